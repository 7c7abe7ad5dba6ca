package stub

import (
	"encoding/binary"
	"strings"
	"unsafe"
)

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
