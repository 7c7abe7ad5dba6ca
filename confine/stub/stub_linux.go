package stub

import (
	"encoding/binary"
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
	memory []byte
	fd     int // of it
	boxes  int // that are in use
	first  *Task
	dead   atomic.Bool
}

// The memory is sparse: what is not used does not exist.
const (
	maxTasks   = 16
	taskRoom   = 64 << 10 // for a task's arguments
	largeRoom  = 4 << 20  // for those of number 1, which may be told to execute a program
	memorySize = boxRoom + (maxTasks-1)*taskRoom + largeRoom
	boxRoom    = 4096
	boxSize    = 128
	boxesAt    = boxSize // what comes before is read by entry
)

// quiet is an address that programs with nothing but a stub in them have free, and Go
// programs too: the memory has the same one in both.
const quiet = 0x1a_0000_0000

// New makes the memory of a stub that is to be.
func New() (*Stub, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	s := &Stub{fd: fd, boxes: 1}
	if err := grow(fd); err != nil {
		unix.Close(fd)
		return nil, err
	}
	at, err := unix.MmapPtr(fd, 0, unsafe.Add(unsafe.Pointer(nil), quiet), memorySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	s.memory = unsafe.Slice((*byte)(at), memorySize)
	s.first = s.task(0)
	s.first.b.turn = ours
	for i, v := range []uintptr{uintptr(at), memorySize, uintptr(unsafe.Pointer(s.first.b))} {
		binary.NativeEndian.PutUint64(s.memory[8*i:], uint64(v))
	}
	return s, nil
}

// grow gives the memory its size. It is a file to the kernel, and so limited by
// RLIMIT_FSIZE, of which the hard limit has to do: the soft one is raised for a moment.
func grow(fd int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && limit.Cur < memorySize && limit.Max >= memorySize {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: memorySize, Max: limit.Max}); err == nil {
			defer unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
		}
	}
	return unix.Ftruncate(fd, memorySize)
}

// Program is a descriptor of what is to be executed to make a stub. The new process is to
// have it too, for /proc/self/fd to name it, and may close it then.
func Program() (fd int, err error) { return executable() }

// Memory is a descriptor of the shared memory.
func (s *Stub) Memory() int { return s.fd }

// First is the task that a stub begins as.
func (s *Stub) First() *Task { return s.first }

// Born closes what the new process has its own copy of.
func (s *Stub) Born() {
	unix.Close(s.fd)
	s.fd = -1
}

// Died has everybody return who waits for a task, now and later. It is to be called when
// the process has ended.
func (s *Stub) Died() {
	s.dead.Store(true)
	for i := range maxTasks {
		turn := &s.box(i).turn
		atomic.StoreUint32(turn, nobodys)
		wake(turn)
	}
}

// Free gives the memory back. No task may be used any more.
func (s *Stub) Free() error {
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(s.memory)), memorySize)
}

func (s *Stub) box(i int) *box { return (*box)(unsafe.Pointer(&s.memory[boxesAt+i*boxSize])) }

// task is the task with that number, which begins at 0.
func (s *Stub) task(i int) *Task {
	t := &Task{stub: s, b: s.box(i)}
	if i == 1 {
		t.room = s.memory[boxRoom+(maxTasks-1)*taskRoom:]
	} else {
		t.room = s.memory[boxRoom+max(i-1, 0)*taskRoom:][:taskRoom]
	}
	return t
}
