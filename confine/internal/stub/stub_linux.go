package stub

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Descriptors that the stub's program must be started with. It maps MemoryFD. LifeFD is one
// end of a pair, whose other end the launcher has. The kernel kills the program when the
// thread that started it ends (PR_SET_PDEATHSIG). The kernel sends no signal if that thread ended
// before the program asked for one. So the program also exits if the other end of LifeFD is
// closed. It looks at the start, and each second while it waits: a process that is being killed
// loses its threads before it closes its descriptors.
const (
	MemoryFD = 3
	LifeFD   = 4
)

// Stub is a process that makes system calls for this program. New makes the memory; the
// caller starts the process.
type Stub struct {
	memory   []byte
	fd       int // of memory
	first    *Task
	tasks    []*Task
	futures  []*future
	events   int
	stepwise bool
	exited   atomic.Bool
}

// The layout of the memory. Pages that are not used take no memory.
const (
	maxTasks      = 3
	mailboxSize   = 128
	mailboxesAt   = mailboxSize // entry reads the words before it
	eventsAt      = mailboxesAt + maxTasks*mailboxSize
	headerSize    = 4096
	arenaSize     = 1 << 20 // for a task's arguments
	lastArenaSize = 5 << 20 // of the last task, which may execute a program with large arguments
	memorySize    = headerSize + maxTasks*callsSize + (maxTasks-1)*arenaSize + lastArenaSize
)

// The memory has the same address in both programs. Neither Go programs nor the stub's use
// this range.
const mapBase, mapStride, mapSlots = 0x1a_0000_0000, 16 << 20, 512

// New makes the memory of a stub. The caller starts the program with it.
func New() (*Stub, error) {
	fd, err := unix.MemfdCreate(memfdName, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate(memfdName, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	s := &Stub{fd: fd}
	if err := setSize(fd); err != nil {
		unix.Close(fd)
		return nil, err
	}
	at, err := mapMemory(fd)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	s.memory = unsafe.Slice((*byte)(at), memorySize)
	s.first = s.task(0)
	s.tasks = append(s.tasks, s.first)
	*s.first.mailbox = emptyMailbox
	for i, v := range []uintptr{uintptr(at), uintptr(memorySize), uintptr(unsafe.Pointer(s.first.mailbox))} {
		binary.NativeEndian.PutUint64(s.memory[8*i:], uint64(v))
	}
	return s, nil
}

var nextSlot atomic.Uint32

func mapMemory(fd int) (unsafe.Pointer, error) {
	for range mapSlots {
		want := unsafe.Add(unsafe.Pointer(nil), mapBase+int(nextSlot.Add(1)%mapSlots)*mapStride)
		at, err := unix.MmapPtr(fd, 0, want, memorySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED_NOREPLACE)
		switch {
		case err == unix.EEXIST:
		case err != nil:
			return nil, err
		case at == want:
			return at, nil
		default: // before Linux 4.17 the address is only a hint
			unix.MunmapPtr(at, memorySize)
		}
	}
	return nil, unix.EEXIST
}

var sizeMutex sync.Mutex

// setSize sets the size of the memory. RLIMIT_FSIZE applies to it, so setSize raises the
// soft limit to the hard one meanwhile.
func setSize(fd int) error {
	sizeMutex.Lock()
	defer sizeMutex.Unlock()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && limit.Cur < memorySize && limit.Max >= memorySize {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: memorySize, Max: limit.Max}); err == nil {
			defer unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
		}
	}
	return unix.Ftruncate(fd, int64(memorySize))
}

// Program returns a descriptor of the stub's program. The new process executes it through
// /proc/self/fd, so it needs the descriptor too, and may close it afterwards.
func Program() (fd int, err error) { return programFile() }

// Memory returns a descriptor of the shared memory.
func (s *Stub) Memory() int { return s.fd }

// First returns the task that the stub's process starts as.
func (s *Stub) First() *Task { return s.first }

// CloseMemory closes the descriptor of the memory, once the new process has its own. The
// memory stays mapped.
func (s *Stub) CloseMemory() {
	unix.Close(s.fd)
	s.fd = -1
}

// MarkExited makes all waits for the stub's tasks return, now and later. The caller calls it
// when the process has ended.
func (s *Stub) MarkExited() {
	s.exited.Store(true)
	for i := range maxTasks {
		owner := &s.mailbox(i).owner
		atomic.StoreUint32(owner, ownerNone)
		wake(owner)
	}
}

func (s *Stub) otherFailed(but *Task) bool {
	for _, t := range s.tasks {
		if t != but && t.failed() {
			return true
		}
	}
	return false
}

// Free unmaps the memory. No task may be used afterwards.
func (s *Stub) Free() error {
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(s.memory)), uintptr(memorySize))
}

func (s *Stub) mailbox(i int) *mailbox {
	return (*mailbox)(unsafe.Pointer(&s.memory[mailboxesAt+i*mailboxSize]))
}

func (s *Stub) task(i int) *Task {
	t := &Task{stub: s, mailbox: s.mailbox(i)}
	t.memory = s.memory[headerSize+i*(callsSize+arenaSize):]
	t.arena.memory = t.memory[callsSize:][:arenaSize]
	if i == maxTasks-1 {
		t.arena.memory = t.memory[callsSize:][:lastArenaSize]
	}
	return t
}
