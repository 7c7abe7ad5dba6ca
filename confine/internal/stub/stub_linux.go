package stub

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Descriptors that the stub's program must be started with. It maps memoryFD. LifeFD is one
// end of a pair, whose other end the launcher has. The kernel kills the program when the
// thread that started it ends (PR_SET_PDEATHSIG). The kernel sends no signal if that thread ended
// before the program asked for one. So the program also exits if the other end of LifeFD is
// closed. It looks at the start, and each second while it waits: a process that is being killed
// loses its threads before it closes its descriptors.
const (
	memoryFD = 3
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
	maxTasks      = 4
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

func program() unsafe.Pointer

// endMark is the end of entry.
const endMark = "stubend."

// maxCode is an upper bound of entry's length.
const maxCode = 1024

// image returns the stub's program: an ELF file (elf(5)) with one segment, which holds entry
// and can be read and executed.
func image() ([]byte, error) {
	code, _, found := bytes.Cut(unsafe.Slice((*byte)(program()), maxCode), []byte(endMark))
	if !found {
		return nil, errors.New("the machine code of the stub has no end")
	}
	const base, header, segment = 0x400000, 64, 56
	size := uint64(header + segment + len(code))
	le := binary.LittleEndian
	// Elf64_Ehdr: 64 bit, little endian, version 1.
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	b = le.AppendUint16(b, 2) // ET_EXEC
	b = le.AppendUint16(b, machine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, base+header+segment) // e_entry
	b = le.AppendUint64(b, header)              // e_phoff
	b = le.AppendUint64(b, 0)                   // no sections
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{header, segment, 1, 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	// Elf64_Phdr.
	b = le.AppendUint32(b, 1)   // PT_LOAD
	b = le.AppendUint32(b, 4|1) // PF_R, PF_X
	for _, v := range []uint64{0, base, base, size, size, 1 << 16} {
		b = le.AppendUint64(b, v)
	}
	return append(b, code...), nil
}

// programFile returns a descriptor of a file in memory that holds the image. It can be read
// and executed only.
var programFile = sync.OnceValues(func() (fd int, err error) {
	code, err := image()
	if err != nil {
		return -1, err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	fd, err = unix.MemfdCreate(memfdName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3 every memfd can be executed
		fd, err = unix.MemfdCreate(memfdName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	if n, err := unix.Write(fd, code); err != nil || n != len(code) {
		return -1, errors.Join(err, unix.ENOSPC)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return -1, err
	}
	// A file that is open for writing cannot be executed (ETXTBSY).
	return unix.Open(fdPath(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
})

// memfdName is the name that the kernel shows for the program and for the memory.
const memfdName = "mcp-jail: init"

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
