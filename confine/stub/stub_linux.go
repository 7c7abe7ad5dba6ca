package stub

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Descriptors that a stub's program begins with. It takes its memory from the first, and
// ends at once where nobody has the other end of the second any more: from then on it is
// killed when the thread that started it ends.
const (
	MemoryFD = 3
	LifeFD   = 4
)

// Stub is a process that carries out system calls, or is about to be one.
type Stub struct {
	memory   []byte
	fd       int // of it
	first    *Task
	tasks    []*Task
	futures  []*future
	events   int
	stepwise bool
	exited   atomic.Bool
}

// The memory is sparse: what is not used does not exist.
const (
	maxTasks      = 3
	mailboxSize   = 128
	mailboxesAt   = mailboxSize // what comes before is read by entry
	eventsAt      = mailboxesAt + maxTasks*mailboxSize
	headerSize    = 4096
	arenaSize     = 1 << 20 // for a task's arguments
	lastArenaSize = 5 << 20 // for those of the last, which may be told to execute a program
	memorySize    = headerSize + maxTasks*callsSize + (maxTasks-1)*arenaSize + lastArenaSize
)

// The memory has the same address in both programs. Those with nothing but a stub in them
// have these free, and Go programs too.
const mapBase, mapStride, mapSlots = 0x1a_0000_0000, 16 << 20, 512

// New makes the memory of a stub that is to be.
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
	s.first.mailbox.owner = ownerHost
	for i, v := range []uintptr{uintptr(at), uintptr(memorySize), uintptr(unsafe.Pointer(s.first.mailbox))} {
		binary.NativeEndian.PutUint64(s.memory[8*i:], uint64(v))
	}
	return s, nil
}

var nextSlot atomic.Uint32

// mapMemory maps the memory where nothing else of this program is.
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
		default: // before Linux 4.17 it is a wish
			unix.MunmapPtr(at, memorySize)
		}
	}
	return nil, unix.EEXIST
}

var sizeMutex sync.Mutex

// setSize gives the memory its size. It is a file to the kernel, and so limited by
// RLIMIT_FSIZE, of which the hard limit has to do: the soft one is raised for a moment.
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

// Program is a descriptor of what is to be executed to make a stub. The new process is to
// have it too, for /proc/self/fd to name it, and may close it then.
func Program() (fd int, err error) { return programFile() }

// Memory is a descriptor of the shared memory.
func (s *Stub) Memory() int { return s.fd }

// First is the task that a stub begins as.
func (s *Stub) First() *Task { return s.first }

// CloseMemory closes what the new process has its own copy of.
func (s *Stub) CloseMemory() {
	unix.Close(s.fd)
	s.fd = -1
}

// MarkExited has everybody return who waits for a task, now and later. It is to be called when
// the process has ended.
func (s *Stub) MarkExited() {
	s.exited.Store(true)
	for i := range maxTasks {
		turn := &s.mailbox(i).owner
		atomic.StoreUint32(turn, ownerNone)
		wake(turn)
	}
}

// otherFailed tells whether a list of another task has.
func (s *Stub) otherFailed(but *Task) bool {
	for _, t := range s.tasks {
		if t != but && t.failed() {
			return true
		}
	}
	return false
}

// Free gives the memory back. No task may be used any more.
func (s *Stub) Free() error {
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(s.memory)), uintptr(memorySize))
}

func (s *Stub) mailbox(i int) *mailbox {
	return (*mailbox)(unsafe.Pointer(&s.memory[mailboxesAt+i*mailboxSize]))
}

// task is the task with that number, which begins at 0.
func (s *Stub) task(i int) *Task {
	t := &Task{stub: s, mailbox: s.mailbox(i)}
	t.memory = s.memory[headerSize+i*(callsSize+arenaSize):]
	t.arena = t.memory[callsSize:][:arenaSize]
	if i == maxTasks-1 {
		t.arena = t.memory[callsSize:][:lastArenaSize]
	}
	return t
}
