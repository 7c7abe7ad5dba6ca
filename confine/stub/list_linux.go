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

// item is a call of a list. The offsets are known to entry.
type item struct {
	nr     uintptr
	args   [6]uintptr
	result uintptr
	ok     uintptr   // an error that is none; with until: the result to go on with
	from   [6]uint16 // for each argument: 0, or of which call before it is the result, and one
	flags  uint32
}

// Flags of items.
const (
	until    = 1 // the call is made again until its result is ok
	whatever = 2 // it may fail
)

// maxItems bounds a list: one that would be longer fails as a whole.
const maxItems = 4096

// later is a number that stands for a result: laterBase and more. No descriptor or
// process has one as high, and no flags are like it.
const laterBase, maxLaters = 0x4d43_0000, 1 << 16

// place is where the result of a call that was recorded is to be found.
type place struct {
	task *Task
	list int // which of its lists
	at   int // in it
	real uintptr
	done bool
}

// CallError is why a list was not carried out, or not as it should have been. What it
// was about is not known: whoever wants to know does it again, carefully.
type CallError struct {
	Call  uintptr // the number of what failed
	Errno syscall.Errno
	Seen  error // what somebody did not like who looked at the results (see Task.Then)
}

func (e *CallError) Error() string {
	if e.Seen != nil {
		return "after a list: " + e.Seen.Error()
	}
	return fmt.Sprintf("call %d of a list: %v", e.Call, e.Errno)
}

func (e *CallError) Unwrap() error { return e.Errno }

// pending is an argument that is another task's result, and known when the list starts.
type pending struct {
	item, arg int
	place     *place
}

var errFull = &CallError{Errno: unix.ENOMEM}

// Careful has every call made as it comes from now on.
func (s *Stub) Careful() { s.careful = true }

// IsCareful tells whether it is.
func (s *Stub) IsCareful() bool { return s.careful }

// Record begins a list.
func (t *Task) Record() {
	if !t.stub.careful {
		t.RecordAnyway()
	}
}

// RecordAnyway begins one for a careful stub, too.
func (t *Task) RecordAnyway() {
	t.reset()
	t.items, t.thens, t.pending, t.recording = t.list()[:0], nil, t.pending[:0], true
	t.lists++
	t.from = len(t.stub.laters)
}

// Recording tells whether calls are put on a list.
func (t *Task) Recording() bool { return t.recording }

// Start has the task make the calls of the list. [Task.Wait] waits for them.
func (t *Task) Start() error { return t.start(0) }

// StartForGood is Start for a list that must not fail: the process ends if it does.
func (t *Task) StartForGood() error { return t.start(1) }

func (t *Task) start(fatal uint32) error {
	if !t.recording {
		return nil
	}
	t.recording = false
	if t.full {
		t.full, t.items = false, nil
		return errFull
	}
	for _, p := range t.pending {
		if !p.place.done {
			return &CallError{Call: t.items[p.item].nr, Errno: unix.EINVAL} // a mistake of ours: the other list was not waited for
		}
		t.items[p.item].args[p.arg] = p.place.real
	}
	if len(t.items) == 0 {
		return nil
	}
	t.post(t.items, fatal)
	t.started = true
	return nil
}

// Wait waits for the list that was started, and looks at what came of it.
func (t *Task) Wait() error {
	if !t.started {
		return nil
	}
	turn := t.await(true)
	if turn == theirs {
		return &CallError{Errno: unix.ECANCELED} // another task's list failed, which this one may wait for
	}
	return t.settle(turn)
}

func (t *Task) settle(turn uint32) error {
	t.started = false
	thens := t.thens
	t.thens = nil
	if turn != ours {
		return errGone
	}
	if left := int(t.b.left); left > 0 {
		failed := t.items[len(t.items)-left]
		return &CallError{Call: failed.nr, Errno: syscall.Errno(-failed.result)}
	}
	for i := t.from; i < len(t.stub.laters); i++ {
		if p := t.stub.laters[i]; p.task == t && p.list == t.lists {
			p.real, p.done = t.items[p.at].result, true
		}
	}
	for _, then := range thens {
		if err := then(); err != nil {
			return &CallError{Seen: err}
		}
	}
	return nil
}

// Fatal is the call that ended the task, of a list that was started for good; nil where
// none did.
func (t *Task) Fatal() error {
	for _, i := range t.items {
		if errno := -i.result; errno > 0 && errno < 4096 && i.result != i.ok && i.flags&whatever == 0 {
			return &CallError{Call: i.nr, Errno: syscall.Errno(errno)}
		}
	}
	return nil
}

// WaitLong is Wait for a list that takes its time, and depends on nobody else's.
func (t *Task) WaitLong() error {
	if !t.started {
		return nil
	}
	return t.settle(t.await(false))
}

// Run is Start and Wait.
func (t *Task) Run() error {
	if err := t.Start(); err != nil {
		return err
	}
	return t.Wait()
}

// Then looks at what calls have filled in: at once, or when the list was waited for.
func (t *Task) Then(look func() error) error {
	if !t.recording {
		return look()
	}
	t.thens = append(t.thens, look)
	return nil
}

// Real is the result that a number stands for, once the list was waited for.
func (t *Task) Real(n int) int {
	if p := t.stub.place(uintptr(n)); p != nil && p.done {
		return int(p.real)
	}
	return n
}

func (s *Stub) place(n uintptr) *place {
	if s == nil || n < laterBase || n-laterBase >= uintptr(len(s.laters)) {
		return nil
	}
	return s.laters[n-laterBase]
}

// Try makes calls that may fail, and tells afterwards what the first of them that did
// failed with.
func (t *Task) Try(calls func() error) (outcome func() error) {
	if !t.recording {
		err := calls()
		return func() error { return err }
	}
	first := len(t.items)
	t.trying, t.outcome = true, nil
	calls()
	t.trying = false
	tried, late := t.items[first:], t.outcome
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

// Firmly makes calls among those that are tried which must not fail.
func (t *Task) Firmly(calls func() error) error {
	trying := t.trying
	t.trying = false
	defer func() { t.trying = trying }()
	return calls()
}

// Outcome is for calls that are tried: what became of them where none failed.
func (t *Task) Outcome(look func() error) error {
	if !t.recording {
		return look()
	}
	t.outcome = look
	return nil
}

// Until has the call that comes next made again and again, until its result is this.
func (t *Task) Until(result int) { t.until = result }

// tolerated is the error of a call that its callers take for none. They cannot when it
// comes later.
func tolerated(nr uintptr) syscall.Errno {
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

// put is the number of what is no call: four bytes are written to memory.
const put = ^uintptr(0)

// put32 has a number be in memory when calls that come later are made: a result, perhaps.
func (t *Task) put32(b []byte, n int) {
	if t.recording && t.stub.place(uintptr(n)) != nil {
		t.record(put, [6]uintptr{uintptr(n), address(b)})
		return
	}
	binary.NativeEndian.PutUint32(b, uint32(t.Real(n)))
}

// record puts a call on the list.
func (t *Task) record(nr uintptr, args [6]uintptr) uintptr {
	if len(t.items) == maxItems || len(t.stub.laters) == maxLaters {
		t.full = true
		return laterBase
	}
	i := item{nr: nr, args: args, ok: -uintptr(tolerated(nr))}
	for k, a := range args {
		switch p := t.stub.place(a); {
		case p == nil:
		case p.done:
			i.args[k] = p.real
		case p.task == t && p.list == t.lists:
			i.from[k] = uint16(p.at + 1)
		default:
			t.pending = append(t.pending, pending{len(t.items), k, p})
		}
	}
	if t.trying {
		i.flags |= whatever
	}
	if t.until != 0 {
		i.flags, i.ok = i.flags|until, uintptr(t.until)
		t.until = 0
	}
	t.items = append(t.items, i)
	t.stub.laters = append(t.stub.laters, &place{task: t, list: t.lists, at: len(t.items) - 1})
	return laterBase + uintptr(len(t.stub.laters)-1)
}

// Failed tells whether an error says no more than that a list failed.
func Failed(err error) bool {
	var c *CallError
	return errors.As(err, &c)
}

// list is the beginning of a task's memory.
func (t *Task) list() []item {
	return unsafe.Slice((*item)(unsafe.Pointer(unsafe.SliceData(t.memory))), maxItems)
}

const listRoom = maxItems * 88

var _ [88]byte = [unsafe.Sizeof(item{})]byte{}
