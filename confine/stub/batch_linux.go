package stub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A list is calls that a task makes one after the other, up to the first that fails,
// without anybody having to tell it in between. While one is recorded the methods of a
// task make no call: they note it, and what they return as a number stands for a result
// that there will be, and can be an argument of later calls of any task. What the
// kernel fills in is there when the list was waited for, and so is what [Task.Then] was
// given to look at it.
//
// Where the stub is careful nothing is recorded: each call is made as it comes, and fails
// with its own error.

// call is a call of a list. The offsets are known to entry.
type call struct {
	nr     uintptr
	args   [6]uintptr
	result uintptr
	accept uintptr   // an error that is none; with until: the result to go on with
	inputs [6]uint16 // for each argument: 0, or of which call before it is the result, and one
	flags  uint32
}

// Flags of items.
const (
	repeatUntil = 1 // the call is made again until its result is ok
	ignoreError = 2 // it may fail
)

// maxCalls bounds a list: one that would be longer fails as a whole.
const maxCalls = 4096

// later is a number that stands for a result: laterBase and more. No descriptor or
// process has one as high, and no flags are like it.
const futureBase, maxFutures = 0x4d43_0000, 1 << 16

// future is where the result of a call that was recorded is to be found.
type future struct {
	task   *Task
	batch  int // which of its lists
	index  int // in it
	result uintptr
	done   bool
}

// CallError is why a list was not carried out, or not as it should have been. What it
// was about is not known: whoever wants to know does it again, carefully.
type CallError struct {
	Call  uintptr // the number of what failed
	Errno syscall.Errno
	Cause error // what somebody did not like who looked at the results (see Task.Then)
}

func (e *CallError) Error() string {
	if e.Cause != nil {
		return "after a list: " + e.Cause.Error()
	}
	return fmt.Sprintf("call %d of a list: %v", e.Call, e.Errno)
}

func (e *CallError) Unwrap() error { return e.Errno }

// fixup is an argument that is another task's result, and known when the list starts.
type fixup struct {
	call, arg int
	future    *future
}

var errBatchFull = &CallError{Errno: unix.ENOMEM}

// SetStepwise has every call made as it comes from now on.
func (s *Stub) SetStepwise() { s.stepwise = true }

// IsStepwise tells whether it is.
func (s *Stub) IsStepwise() bool { return s.stepwise }

// Begin begins a list.
func (t *Task) Begin() {
	if !t.stub.stepwise {
		t.BeginAlways()
	}
}

// BeginAlways begins one for a careful stub, too.
func (t *Task) BeginAlways() {
	t.resetArena()
	t.calls, t.completions, t.fixups, t.recording = t.callMemory()[:0], nil, t.fixups[:0], true
	t.batches++
	t.firstFuture = len(t.stub.futures)
}

// Recording tells whether calls are put on a list.
func (t *Task) Recording() bool { return t.recording }

// Submit has the task make the calls of the list. [Task.Wait] waits for them.
func (t *Task) Submit() error { return t.submit(0) }

// SubmitFatal is Start for a list that must not fail: the process ends if it does.
func (t *Task) SubmitFatal() error { return t.submit(1) }

func (t *Task) submit(fatal uint32) error {
	if !t.recording {
		return nil
	}
	t.recording = false
	if t.full {
		t.full, t.calls = false, nil
		return errBatchFull
	}
	for _, p := range t.fixups {
		if !p.future.done {
			return &CallError{Call: t.calls[p.call].nr, Errno: unix.EINVAL} // a mistake of ours: the other list was not waited for
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

// Wait waits for the list that was started, and looks at what came of it.
func (t *Task) Wait() error {
	if !t.submitted {
		return nil
	}
	turn := t.await(true)
	if turn == ownerStub {
		return &CallError{Errno: unix.ECANCELED} // another task's list failed, which this one may wait for
	}
	return t.complete(turn)
}

func (t *Task) complete(turn uint32) error {
	t.submitted = false
	thens := t.completions
	t.completions = nil
	if turn != ownerHost {
		return errExited
	}
	if left := int(t.mailbox.remaining); left > 0 {
		failed := t.calls[len(t.calls)-left]
		return &CallError{Call: failed.nr, Errno: syscall.Errno(-failed.result)}
	}
	for i := t.firstFuture; i < len(t.stub.futures); i++ {
		if p := t.stub.futures[i]; p.task == t && p.batch == t.batches {
			p.result, p.done = t.calls[p.index].result, true
		}
	}
	for _, then := range thens {
		if err := then(); err != nil {
			return &CallError{Cause: err}
		}
	}
	return nil
}

// Fatal is the call that ended the task, of a list that was started for good; nil where
// none did.
func (t *Task) Fatal() error {
	for _, i := range t.calls {
		if errno := -i.result; errno > 0 && errno < 4096 && i.result != i.accept && i.flags&ignoreError == 0 {
			return &CallError{Call: i.nr, Errno: syscall.Errno(errno)}
		}
	}
	return nil
}

// WaitLong is Wait for a list that takes its time, and depends on nobody else's.
func (t *Task) WaitLong() error {
	if !t.submitted {
		return nil
	}
	return t.complete(t.await(false))
}

// Run is Start and Wait.
func (t *Task) Run() error {
	if err := t.Submit(); err != nil {
		return err
	}
	return t.Wait()
}

// OnComplete looks at what calls have filled in: at once, or when the list was waited for.
func (t *Task) OnComplete(look func() error) error {
	if !t.recording {
		return look()
	}
	t.completions = append(t.completions, look)
	return nil
}

// Resolve is the result that a number stands for, once the list was waited for.
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

// Optional makes calls that may fail, and tells afterwards what the first of them that did
// failed with.
func (t *Task) Optional(calls func() error) (outcome func() error) {
	if !t.recording {
		err := calls()
		return func() error { return err }
	}
	first := len(t.calls)
	t.optional, t.onOptional = true, nil
	calls()
	t.optional = false
	tried, late := t.calls[first:], t.onOptional
	return func() error {
		for _, i := range tried {
			if errno := syscall.Errno(-i.result); errno > 0 && errno < 4096 {
				return errno
			}
		}
		if late != nil {
			return late()
		}
		return nil
	}
}

// Required makes calls among those that are tried which must not fail.
func (t *Task) Required(calls func() error) error {
	trying := t.optional
	t.optional = false
	defer func() { t.optional = trying }()
	return calls()
}

// OnOptional is for calls that are tried: what became of them where none failed.
func (t *Task) OnOptional(look func() error) error {
	if !t.recording {
		return look()
	}
	t.onOptional = look
	return nil
}

// RepeatUntil has the call that comes next made again and again, until its result is this.
func (t *Task) RepeatUntil(result int) { t.repeatUntil = result }

// ignoredErrno is the error of a call that its callers take for none. They cannot when it
// comes later.
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

// storeWord is the number of what is no call: four bytes are written to memory.
const storeWord = ^uintptr(0)

// storeInt32 has a number be in memory when calls that come later are made: a result, perhaps.
func (t *Task) storeInt32(b []byte, n int) {
	if t.recording && t.stub.futureOf(uintptr(n)) != nil {
		t.record(storeWord, [6]uintptr{uintptr(n), address(b)})
		return
	}
	binary.NativeEndian.PutUint32(b, uint32(t.Resolve(n)))
}

// record puts a call on the list.
func (t *Task) record(nr uintptr, args [6]uintptr) uintptr {
	if len(t.calls) == maxCalls || len(t.stub.futures) == maxFutures {
		t.full = true
		return futureBase
	}
	i := call{nr: nr, args: args, accept: -uintptr(ignoredErrno(nr))}
	for k, a := range args {
		switch p := t.stub.futureOf(a); {
		case p == nil:
		case p.done:
			i.args[k] = p.result
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

// IsBatchError tells whether an error says no more than that a list failed.
func IsBatchError(err error) bool {
	var c *CallError
	return errors.As(err, &c)
}

// callMemory is the beginning of a task's memory.
func (t *Task) callMemory() []call {
	return unsafe.Slice((*call)(unsafe.Pointer(unsafe.SliceData(t.memory))), maxCalls)
}

const callsSize = maxCalls * 88

var _ [88]byte = [unsafe.Sizeof(call{})]byte{}
