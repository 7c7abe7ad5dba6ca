package stub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A batch is a sequence of calls that a task makes without a round trip in between. The
// task stops at the first call that fails. See the package comment.

// call is one call of a batch. The assembler code of entry knows the offsets.
type call struct {
	nr     uintptr
	args   [6]uintptr
	result uintptr
	accept uintptr   // an error that counts as success; with repeatUntil: the wanted result
	inputs [6]uint16 // for each argument: 0, or 1 + the index of the call whose result it is
	flags  uint32
}

// Flags of calls.
const (
	repeatUntil = 1 // repeat the call until its result is accept
	ignoreError = 2 // go on with the next call if this one fails
)

// maxCalls is the length of the longest batch. Submit of a longer one fails.
const maxCalls = 4096

// A future is a number that stands for the result of a collected call: futureBase + n. No
// descriptor and no process has such a high number, and no flags have this value.
const futureBase, maxFutures = 0x4d43_0000, 1 << 16

// future says where the result of a collected call is found.
type future struct {
	task   *Task
	batch  int // the number of the task's batch
	index  int // of the call in the batch
	result uintptr
	done   bool // result is set
}

// CallError is the error of a batch. It tells which system call failed, and not for which
// step of the caller. A stepwise stub gives each caller its own error.
type CallError struct {
	Call  uintptr // the number of the system call
	Errno syscall.Errno
	Cause error // the error of a function given to [Task.OnComplete], instead of Errno
}

func (e *CallError) Error() string {
	if e.Cause != nil {
		return "after a batch of calls: " + e.Cause.Error()
	}
	return fmt.Sprintf("system call %d of a batch: %v", e.Call, e.Errno)
}

func (e *CallError) Unwrap() error { return e.Errno }

// fixup is an argument that is the result of an earlier batch. Submit fills it in.
type fixup struct {
	call, arg int
	future    *future
}

var errBatchFull = &CallError{Errno: unix.ENOMEM}

// SetStepwise turns batches off: from now on each call is made at once.
func (s *Stub) SetStepwise() { s.stepwise = true }

// IsStepwise reports whether SetStepwise was called.
func (s *Stub) IsStepwise() bool { return s.stepwise }

// Begin begins a batch: the task collects its calls until Submit. A stepwise
// stub ignores it.
func (t *Task) Begin() {
	if !t.stub.stepwise {
		t.BeginAlways()
	}
}

// BeginAlways begins a batch for a stepwise stub too.
func (t *Task) BeginAlways() {
	t.arena.reset()
	t.calls, t.completions, t.fixups, t.batching = t.callMemory()[:0], nil, t.fixups[:0], true
	t.batches++
	t.firstFuture = len(t.stub.futures)
}

// Batching reports whether the task collects its calls.
func (t *Task) Batching() bool { return t.batching }

// Submit hands the collected batch to the task and returns. [Task.Wait] waits for the results.
func (t *Task) Submit() error { return t.submit(0) }

// SubmitFatal is Submit for a batch that must not fail: if a call fails, the process exits.
func (t *Task) SubmitFatal() error { return t.submit(1) }

func (t *Task) submit(fatal uint32) error {
	if !t.batching {
		return nil
	}
	t.batching = false
	if t.arena.full {
		t.arena.full, t.calls = false, nil
		return errBatchFull
	}
	for _, p := range t.fixups {
		if !p.future.done {
			return &CallError{Call: t.calls[p.call].nr, Errno: unix.EINVAL} // a bug of the caller: nothing waited for the other batch
		}
		t.calls[p.call].args[p.arg] = p.future.result
	}
	if len(t.calls) == 0 {
		return nil
	}
	t.post(t.calls, fatal)
	t.submitted = true
	return nil
}

// Wait waits for the submitted batch and calls the functions given to OnComplete. It gives
// up if a batch of another task failed, because this batch may wait for that one.
func (t *Task) Wait() error {
	if !t.submitted {
		return nil
	}
	owner := t.await(true)
	if owner == ownerStub {
		return &CallError{Errno: unix.ECANCELED} // a batch of another task failed
	}
	return t.complete(owner)
}

func (t *Task) complete(owner uint32) error {
	t.submitted = false
	defer t.arena.reset()
	completions := t.completions
	t.completions = nil
	if owner != ownerLauncher {
		return errExited
	}
	if n := int(t.mailbox.remaining); n > 0 {
		failed := t.calls[len(t.calls)-n]
		return &CallError{Call: failed.nr, Errno: syscall.Errno(-failed.result)}
	}
	for i := t.firstFuture; i < len(t.stub.futures); i++ {
		if p := t.stub.futures[i]; p.task == t && p.batch == t.batches {
			p.result, p.done = t.calls[p.index].result, true
		}
	}
	for _, f := range completions {
		if err := f(); err != nil {
			return &CallError{Cause: err}
		}
	}
	return nil
}

// Fatal returns the failed call of a batch given to SubmitFatal, or nil.
func (t *Task) Fatal() error {
	for _, i := range t.calls {
		if errno := -i.result; errno > 0 && errno < 4096 && i.result != i.accept && i.flags&ignoreError == 0 {
			return &CallError{Call: i.nr, Errno: syscall.Errno(errno)}
		}
	}
	return nil
}

// WaitLong is Wait for a long batch that does not depend on other tasks.
func (t *Task) WaitLong() error {
	if !t.submitted {
		return nil
	}
	return t.complete(t.await(false))
}

// Run is Submit and Wait.
func (t *Task) Run() error {
	if err := t.Submit(); err != nil {
		return err
	}
	return t.Wait()
}

// OnComplete calls f when the results of the calls so far are there: after the batch while
// one is collected, else at once. An error of f becomes the error of the batch.
func (t *Task) OnComplete(f func() error) error {
	if !t.batching {
		return f()
	}
	t.completions = append(t.completions, f)
	return nil
}

// Resolve returns the result that a future stands for, after its batch. It returns every
// other number unchanged.
func (t *Task) Resolve(n int) int {
	if p := t.stub.futureOf(uintptr(n)); p != nil && p.done {
		return int(p.result)
	}
	return n
}

func (s *Stub) futureOf(n uintptr) *future {
	if s == nil || n < futureBase || n-futureBase >= uintptr(len(s.futures)) {
		return nil
	}
	return s.futures[n-futureBase]
}

// Optional makes calls that may fail without failing the batch. The returned function gives
// the error of the first that failed. Call it after the batch.
func (t *Task) Optional(calls func() error) (outcome func() error) {
	if !t.batching {
		err := calls()
		return func() error { return err }
	}
	first := len(t.calls)
	t.optional, t.onOptional = true, nil
	calls()
	t.optional = false
	optional, onOptional := t.calls[first:], t.onOptional
	return func() error {
		for _, i := range optional {
			if errno := syscall.Errno(-i.result); errno > 0 && errno < 4096 {
				return errno
			}
		}
		if onOptional != nil {
			return onOptional()
		}
		return nil
	}
}

// Required makes calls that must not fail inside Optional.
func (t *Task) Required(calls func() error) error {
	optional := t.optional
	t.optional = false
	defer func() { t.optional = optional }()
	return calls()
}

// OnOptional gives the calls of Optional an outcome of their own: if none of them failed,
// the function that Optional returned gives the error of f.
func (t *Task) OnOptional(f func() error) error {
	if !t.batching {
		return f()
	}
	t.onOptional = f
	return nil
}

// RepeatUntil makes the task repeat its next call until the call returns result.
func (t *Task) RepeatUntil(result int) { t.repeatUntil = result }

// ignoredErrno returns the error of a system call that all callers ignore, or 0. The callers
// cannot ignore the error themselves while a batch is collected.
func ignoredErrno(nr uintptr) syscall.Errno {
	switch nr {
	case unix.SYS_MKDIRAT, unix.SYS_SYMLINKAT, unix.SYS_MKNODAT:
		return unix.EEXIST
	case unix.SYS_KEYCTL:
		return unix.ENOSYS
	case unix.SYS_FUTEX:
		return unix.EAGAIN
	}
	return 0
}

// storeWord is not a system call. Instead of a call the task stores four bytes.
const storeWord = ^uintptr(0)

// storeInt32 stores n in the arena, where later calls find it. If n is a future, the task
// stores it when the result is there.
func (t *Task) storeInt32(b []byte, n int) {
	if t.batching && t.stub.futureOf(uintptr(n)) != nil {
		t.collect(storeWord, [6]uintptr{uintptr(n), address(b)})
		return
	}
	binary.NativeEndian.PutUint32(b, uint32(t.Resolve(n)))
}

func (t *Task) collect(nr uintptr, args [6]uintptr) uintptr {
	if len(t.calls) == maxCalls || len(t.stub.futures) == maxFutures {
		t.arena.full = true
		return futureBase
	}
	i := call{nr: nr, args: args, accept: -uintptr(ignoredErrno(nr))}
	for k, a := range args {
		switch p := t.stub.futureOf(a); {
		case p == nil:
		case p.done:
			i.args[k] = p.result
		// The task itself fills in the result of an earlier call of this batch.
		case p.task == t && p.batch == t.batches:
			i.inputs[k] = uint16(p.index + 1)
		default:
			t.fixups = append(t.fixups, fixup{len(t.calls), k, p})
		}
	}
	if t.optional {
		i.flags |= ignoreError
	}
	if t.repeatUntil != 0 {
		i.flags, i.accept = i.flags|repeatUntil, uintptr(t.repeatUntil)
		t.repeatUntil = 0
	}
	t.calls = append(t.calls, i)
	t.stub.futures = append(t.stub.futures, &future{task: t, batch: t.batches, index: len(t.calls) - 1})
	return futureBase + uintptr(len(t.stub.futures)-1)
}

// IsBatchError reports whether an error is that of a batch, and so does not name a step.
func IsBatchError(err error) bool {
	var c *CallError
	return errors.As(err, &c)
}

func (t *Task) callMemory() []call {
	return unsafe.Slice((*call)(unsafe.Pointer(unsafe.SliceData(t.memory))), maxCalls)
}

const callsSize = maxCalls * 88

var _ [88]byte = [unsafe.Sizeof(call{})]byte{}

func Openat(t *Task, dir int, path string, flags int, mode uint32) (int, error) {
	return t.call(unix.SYS_OPENAT, uintptr(dir), t.Path(path), uintptr(flags|unix.O_LARGEFILE), uintptr(mode))
}

func Openat2(t *Task, dir int, path string, how *unix.OpenHow) (int, error) {
	return t.call(unix.SYS_OPENAT2, uintptr(dir), t.Path(path), copyStruct(t, how), unsafe.Sizeof(*how))
}

func Close(t *Task, fd int) error { return t.do(unix.SYS_CLOSE, uintptr(fd)) }

func CloseRange(t *Task, first, last uint, flags int) error {
	return t.do(unix.SYS_CLOSE_RANGE, uintptr(first), uintptr(last), uintptr(flags))
}

func Read(t *Task, fd int, b []byte) (int, error) {
	at := t.arena.alloc(len(b))
	clear(at)
	n, err := t.call(unix.SYS_READ, uintptr(fd), address(at), uintptr(len(b)))
	if err == nil {
		t.OnComplete(func() error { copy(b, at); return nil })
	}
	return n, err
}

func Write(t *Task, fd int, b []byte) (int, error) {
	return t.call(unix.SYS_WRITE, uintptr(fd), t.arena.copyIn(b), uintptr(len(b)))
}

func Mkdirat(t *Task, dir int, path string, mode uint32) error {
	return t.do(unix.SYS_MKDIRAT, uintptr(dir), t.Path(path), uintptr(mode))
}

func Mkdir(t *Task, path string, mode uint32) error { return Mkdirat(t, unix.AT_FDCWD, path, mode) }

func Rmdir(t *Task, path string) error { return Unlinkat(t, unix.AT_FDCWD, path, unix.AT_REMOVEDIR) }

func Mknodat(t *Task, dir int, path string, mode uint32, dev int) error {
	return t.do(unix.SYS_MKNODAT, uintptr(dir), t.Path(path), uintptr(mode), uintptr(dev))
}

func Symlinkat(t *Task, target string, dir int, path string) error {
	return t.do(unix.SYS_SYMLINKAT, t.Path(target), uintptr(dir), t.Path(path))
}

func Unlinkat(t *Task, dir int, path string, flags int) error {
	return t.do(unix.SYS_UNLINKAT, uintptr(dir), t.Path(path), uintptr(flags))
}

// Faccessat takes no flags: faccessat2 needs Linux 5.8.
func Faccessat(t *Task, dir int, path string, mode uint32) error {
	return t.do(unix.SYS_FACCESSAT, uintptr(dir), t.Path(path), uintptr(mode))
}

func Fstat(t *Task, fd int, st *unix.Stat_t) error {
	return fillStruct(t, st, func(at uintptr) error { return t.do(unix.SYS_FSTAT, uintptr(fd), at) })
}

func Fstatfs(t *Task, fd int, st *unix.Statfs_t) error {
	return fillStruct(t, st, func(at uintptr) error { return t.do(unix.SYS_FSTATFS, uintptr(fd), at) })
}

func Statx(t *Task, dir int, path string, flags, mask int, st *unix.Statx_t) error {
	name := t.Path(path)
	return fillStruct(t, st, func(at uintptr) error {
		return t.do(unix.SYS_STATX, uintptr(dir), name, uintptr(flags), uintptr(mask), at)
	})
}

func Dup3(t *Task, from, to, flags int) error {
	return t.do(unix.SYS_DUP3, uintptr(from), uintptr(to), uintptr(flags))
}

func FcntlInt(t *Task, fd, cmd, arg int) (int, error) {
	return t.call(unix.SYS_FCNTL, uintptr(fd), uintptr(cmd), uintptr(arg))
}

// Ioctl is for requests that only read their argument.
func Ioctl(t *Task, fd int, request uintptr, arg []byte) (int, error) {
	return t.call(unix.SYS_IOCTL, uintptr(fd), request, t.arena.copyIn(arg))
}
