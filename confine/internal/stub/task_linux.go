package stub

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// mailbox is the memory by which the launcher (this program) and a task exchange batches. The
// assembler code of entry knows the offsets.
type mailbox struct {
	owner           uint32 // a futex(2) word: the side that may use the mailbox
	stubAsleep      uint32 // the task sleeps until owner changes
	launcherWaiting uint32 // the launcher sleeps, or is about to, until owner changes
	spin            uint32 // how often the task yields its processor before it sleeps
	count           uintptr
	first           uintptr       // the address of the first of count calls
	remaining       uintptr       // of count: the calls not made, and the one that failed
	fatal           uint32        // not 0: the process exits if a call fails
	life            unix.PollFd   // for LifeFD
	lifeInterval    unix.Timespec // the time between two looks at LifeFD while the task sleeps
}

// emptyMailbox is the content of a new task's mailbox.
var emptyMailbox = mailbox{owner: ownerLauncher, life: unix.PollFd{Fd: LifeFD}, lifeInterval: unix.Timespec{Sec: 1}}

// Values of owner. The kernel sets it to ownerNone when a forked task exits or executes
// another program (CLONE_CHILD_CLEARTID).
const (
	ownerNone     = iota
	ownerStub     // the task makes the calls
	ownerLauncher // the launcher may submit a batch
)

// Task is one process of a stub. The zero value is the calling thread. One goroutine at a
// time may use a task.
type Task struct {
	stub    *Stub // nil for the calling thread
	mailbox *mailbox
	memory  []byte // the calls, and after them the arena
	arena   arena

	calls       []call         // of the current batch
	completions []func() error // given to OnComplete
	fixups      []fixup
	batches     int  // how many were begun
	firstFuture int  // of the current batch
	batching    bool // between Begin and Submit
	submitted   bool // between Submit and Wait
	optional    bool // inside Optional
	onOptional  func() error
	repeatUntil int // the wanted result of the next call, or 0
}

// errExited is the error of a task that has exited or executes another program.
var errExited = errors.New("the process that builds the jail was ended" + EndedBy)

// EndedBy is the end of an error message: it lists what can have ended a stub, and what to do.
const EndedBy = ": by a SIGKILL, by the kernel when memory ran out, or by the system call filter of a container that mcp-jail runs in. The kernel's log tells which (dmesg). Start it again; in a container, allow it more system calls"

// From linux/futex.h.
const (
	futexWait  = 0
	futexWake  = 1
	allWaiters = 1<<31 - 1
)

// Call makes a system call. Pointers among the arguments must point into the task's arena.
// The functions named like those of package unix put their arguments there. If they did not fit, Call
// fails with ENOMEM.
func (t *Task) Call(nr uintptr, args ...uintptr) (uintptr, error) {
	if t.arena.full && !t.batching {
		return 0, unix.ENOMEM
	}
	var a [6]uintptr
	copy(a[:], args)
	if t.stub == nil {
		r, _, errno := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		runtime.KeepAlive(t)
		if errno != 0 {
			return 0, errno
		}
		return r, nil
	}
	if t.batching {
		return t.collect(nr, a), nil
	}
	t.post(append(t.callMemory()[:0], call{nr: nr, args: t.stub.resolveAll(a), flags: t.repeatFlag(), accept: uintptr(t.repeatUntil)}), 0)
	t.repeatUntil = 0
	if t.await(false) != ownerLauncher {
		return 0, errExited
	}
	// The kernel returns errors as small negative numbers.
	r := t.callMemory()[:1][0].result
	if errno := syscall.Errno(-r); errno > 0 && errno < 4096 {
		return 0, errno
	}
	return r, nil
}

// call is Call, and empties the arena.
func (t *Task) call(nr uintptr, args ...uintptr) (int, error) {
	if !t.batching {
		defer t.arena.reset() // its content stays until the next call, for OnComplete
	}
	r, err := t.Call(nr, args...)
	if err != nil {
		return -1, err
	}
	return int(r), nil
}

func (t *Task) do(nr uintptr, args ...uintptr) error {
	_, err := t.call(nr, args...)
	return err
}

func (t *Task) repeatFlag() uint32 {
	if t.repeatUntil != 0 {
		return repeatUntil
	}
	return 0
}

func (s *Stub) resolveAll(args [6]uintptr) [6]uintptr {
	for k, a := range args {
		if p := s.futureOf(a); p != nil && p.done {
			args[k] = p.result
		}
	}
	return args
}

func (t *Task) post(calls []call, fatal uint32) {
	b := t.mailbox
	t.calls = calls
	b.fatal = fatal
	b.count, b.first = uintptr(len(calls)), uintptr(unsafe.Pointer(unsafe.SliceData(calls)))
	atomic.StoreUint32(&b.launcherWaiting, 0)
	if !atomic.CompareAndSwapUint32(&b.owner, ownerLauncher, ownerStub) {
		return // the task has exited
	}
	if atomic.LoadUint32(&b.stubAsleep) != 0 {
		wake(&b.owner)
	}
}

// minPoll and maxPoll, in nanoseconds, bound the time between two looks at the other tasks:
// the awaited batch may wait for a batch of another task, and that batch may have failed.
const minPoll, maxPoll = 2_000_000, 100_000_000

// await waits until the task has made its calls or has exited, and returns the mailbox's
// owner. If others is true and another task's batch fails, await gives up and returns
// ownerStub.
func (t *Task) await(others bool) (owner uint32) {
	b := t.mailbox
	if owner := atomic.LoadUint32(&b.owner); owner != ownerStub {
		return owner
	}
	// The task wakes the launcher only if this is set: it saves a call for a batch that ends soon.
	atomic.StoreUint32(&b.launcherWaiting, 1)
	pause := unix.Timespec{Nsec: minPoll}
	for {
		if owner := atomic.LoadUint32(&b.owner); owner != ownerStub {
			return owner
		}
		var timeout uintptr
		if others {
			timeout = uintptr(unsafe.Pointer(&pause))
		}
		_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.owner)), futexWait, ownerStub, timeout, 0, 0)
		if t.stub.exited.Load() {
			return ownerNone
		}
		if errno == unix.ETIMEDOUT {
			if t.stub.otherFailed(t) {
				return ownerStub
			}
			pause.Nsec = min(2*pause.Nsec, maxPoll)
		}
	}
}

func (t *Task) failed() bool {
	return t.submitted && atomic.LoadUint32(&t.mailbox.owner) == ownerLauncher && t.mailbox.remaining > 0
}

func wake(word *uint32) {
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, allWaiters, 0, 0, 0)
}

// The zero Task makes Landlock's calls through go-landlock. A stub makes them with
// go-landlock's structures.

// LandlockCreateRuleset creates a ruleset that handles the accesses in attr. Fields that the
// kernel's ABI does not have must be zero: the kernel accepts a longer structure whose
// surplus is zero.
func LandlockCreateRuleset(t *Task, attr *ll.RulesetAttr) (int, error) {
	if t.stub == nil {
		return ll.LandlockCreateRuleset(attr, 0)
	}
	return t.call(unix.SYS_LANDLOCK_CREATE_RULESET, copyStruct(t, attr), unsafe.Sizeof(*attr), 0)
}

// LandlockAddPathBeneath allows accesses to an object and to everything below it.
func LandlockAddPathBeneath(t *Task, ruleset, object int, access uint64) error {
	attr := ll.PathBeneathAttr{AllowedAccess: access, ParentFd: object}
	if t.stub == nil {
		return ll.LandlockAddPathBeneathRule(ruleset, &attr, 0)
	}
	at := t.arena.alloc(int(unsafe.Sizeof(attr)))
	*(*ll.PathBeneathAttr)(unsafe.Pointer(unsafe.SliceData(at))) = attr
	t.storeInt32(at[unsafe.Offsetof(attr.ParentFd):], object) // the number of a descriptor comes later in a batch
	return t.do(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), ll.RuleTypePathBeneath, address(at), 0)
}

// LandlockRestrictSelf restricts the task's thread, and every process that it starts later,
// with a ruleset. The thread must have no_new_privs. The caller of a zero Task must have
// locked its goroutine to its thread.
func LandlockRestrictSelf(t *Task, ruleset int) error {
	if t.stub == nil {
		return ll.LandlockRestrictSelf(ruleset, 0)
	}
	return t.do(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0)
}

func Chdir(t *Task, path string) error {
	return t.do(unix.SYS_CHDIR, t.Path(path))
}

func Fchdir(t *Task, fd int) error { return t.do(unix.SYS_FCHDIR, uintptr(fd)) }

func PivotRoot(t *Task, newRoot, putOld string) error {
	return t.do(unix.SYS_PIVOT_ROOT, t.Path(newRoot), t.Path(putOld))
}

func Mount(t *Task, source, target, kind string, flags uintptr) error {
	return t.do(unix.SYS_MOUNT, t.Path(source), t.Path(target), t.Path(kind), flags, 0)
}

func Unmount(t *Task, path string, flags int) error {
	return t.do(unix.SYS_UMOUNT2, t.Path(path), uintptr(flags))
}

func MountSetattr(t *Task, dir int, path string, flags uint, attr *unix.MountAttr) error {
	return t.do(unix.SYS_MOUNT_SETATTR, uintptr(dir), t.Path(path), uintptr(flags), copyStruct(t, attr), unsafe.Sizeof(*attr))
}

func MoveMount(t *Task, fromDir int, from string, toDir int, to string, flags int) error {
	return t.do(unix.SYS_MOVE_MOUNT, uintptr(fromDir), t.Path(from), uintptr(toDir), t.Path(to), uintptr(flags))
}

func OpenTree(t *Task, dir int, path string, flags uint) (int, error) {
	return t.call(unix.SYS_OPEN_TREE, uintptr(dir), t.Path(path), uintptr(flags))
}

func OpenTreeAttr(t *Task, dir int, path string, flags uint, attr *unix.MountAttr) (int, error) {
	return t.call(unix.SYS_OPEN_TREE_ATTR, uintptr(dir), t.Path(path), uintptr(flags), copyStruct(t, attr), unsafe.Sizeof(*attr))
}

func Fsopen(t *Task, kind string, flags int) (int, error) {
	return t.call(unix.SYS_FSOPEN, t.Path(kind), uintptr(flags))
}

func FsconfigSetString(t *Task, fd int, key, value string) error {
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_SET_STRING, t.Path(key), t.Path(value), 0)
}

func FsconfigSetFlag(t *Task, fd int, key string) error {
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_SET_FLAG, t.Path(key), 0, 0)
}

func FsconfigCreate(t *Task, fd int) error {
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_CMD_CREATE, 0, 0, 0)
}

func Fsmount(t *Task, fd, flags, attr int) (int, error) {
	return t.call(unix.SYS_FSMOUNT, uintptr(fd), uintptr(flags), uintptr(attr))
}

func Prctl(t *Task, option int, args ...uintptr) (int, error) {
	var a [5]uintptr
	a[0] = uintptr(option)
	copy(a[1:], args)
	return t.call(unix.SYS_PRCTL, a[:]...)
}

func Capset(t *Task, hdr *unix.CapUserHeader, data *[2]unix.CapUserData) error {
	return t.do(unix.SYS_CAPSET, copyStruct(t, hdr), copyStruct(t, data))
}

func Capget(t *Task, hdr *unix.CapUserHeader, data *[2]unix.CapUserData) error {
	head := copyStruct(t, hdr)
	return fillStruct(t, data, func(at uintptr) error { return t.do(unix.SYS_CAPGET, head, at) })
}

func Setrlimit(t *Task, resource int, limit *unix.Rlimit) error {
	return t.do(unix.SYS_PRLIMIT64, 0, uintptr(resource), copyStruct(t, limit), 0)
}

func Getrlimit(t *Task, resource int, limit *unix.Rlimit) error {
	return fillStruct(t, limit, func(at uintptr) error { return t.do(unix.SYS_PRLIMIT64, 0, uintptr(resource), 0, at) })
}

// ExchangeRlimit sets a limit and returns the old one.
func ExchangeRlimit(t *Task, resource int, limit, old *unix.Rlimit) error {
	now := copyStruct(t, limit)
	return fillStruct(t, old, func(at uintptr) error { return t.do(unix.SYS_PRLIMIT64, 0, uintptr(resource), now, at) })
}

// Seccomp installs a filter, given as struct sock_filter records, and returns the kernel's
// result.
func Seccomp(t *Task, records []byte, flags uintptr) (int, error) {
	fprog := sockFprog(t, records)
	return t.call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, fprog)
}

func Sethostname(t *Task, name string) error {
	return t.do(unix.SYS_SETHOSTNAME, t.arena.cString(name), uintptr(len(name)))
}

func Umask(t *Task, mask int) int {
	old, _ := t.call(unix.SYS_UMASK, uintptr(mask))
	return old
}

func Setsid(t *Task) error { return t.do(unix.SYS_SETSID) }

// Wait4 waits for a child of the task's process. The task can do nothing else meanwhile.
func Wait4(t *Task, pid int, status *syscall.WaitStatus, options int) (int, error) {
	at := t.arena.alloc(4)
	pid, err := t.call(unix.SYS_WAIT4, uintptr(pid), address(at), uintptr(options), 0)
	if err == nil && status != nil {
		t.OnComplete(func() error { *status = syscall.WaitStatus(binary.NativeEndian.Uint32(at)); return nil })
	}
	return pid, err
}

func Kill(t *Task, pid int, signal syscall.Signal) error {
	return t.do(unix.SYS_KILL, uintptr(pid), uintptr(signal))
}

func PtraceAttach(t *Task, pid int) error {
	return t.do(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(pid), 0, 0)
}

func Unshare(t *Task, flags int) error { return t.do(unix.SYS_UNSHARE, uintptr(flags)) }

func Setns(t *Task, fd, kind int) error { return t.do(unix.SYS_SETNS, uintptr(fd), uintptr(kind)) }

// arena is the memory to which the arguments of calls point, also the memory that the kernel
// writes to. Each batch starts with an empty arena. Outside of a batch each call does.
type arena struct {
	memory []byte
	used   int
	full   bool // an argument did not fit
}

func (a *arena) reset() { a.used, a.full = 0, false }

// ownArenaSize is the size of the zero Task's arena. The largest filter of system calls, of 4096
// instructions, fits.
const ownArenaSize = 48 << 10

// alloc returns n bytes of the arena, which are not cleared. If they do not fit, it sets
// full, and the call fails with ENOMEM.
func (a *arena) alloc(n int) []byte {
	if a.memory == nil { // of the zero Task
		a.memory = make([]byte, ownArenaSize)
	}
	at := (a.used + 7) &^ 7
	if n > len(a.memory)-at {
		a.full = true
		return make([]byte, n)
	}
	a.used = at + n
	return a.memory[at : at+n : at+n]
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func (a *arena) copyIn(b []byte) uintptr {
	at := a.alloc(len(b))
	copy(at, b)
	return address(at)
}

func (a *arena) cString(s string) uintptr {
	at := a.alloc(len(s) + 1)
	at[copy(at, s)] = 0
	return address(at)
}

// Path copies a path into the task's arena, for Call. One with a NUL in it fails like one that does
// not fit.
func (t *Task) Path(p string) uintptr {
	if strings.IndexByte(p, 0) >= 0 {
		t.arena.full = true
	}
	return t.arena.cString(p)
}

func (t *Task) cStrings(all []string) uintptr {
	list := t.arena.alloc(8 * (len(all) + 1))
	for i, s := range all {
		binary.NativeEndian.PutUint64(list[8*i:], uint64(t.Path(s)))
	}
	binary.NativeEndian.PutUint64(list[8*len(all):], 0)
	return address(list)
}

func copyStruct[T any](t *Task, v *T) uintptr {
	return t.arena.copyIn(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)))
}

func fillStruct[T any](t *Task, v *T, call func(at uintptr) error) error {
	at := t.arena.alloc(int(unsafe.Sizeof(*v)))
	if err := call(address(at)); err != nil {
		return err
	}
	return t.OnComplete(func() error {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)), at)
		return nil
	})
}
