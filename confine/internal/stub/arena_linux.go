package stub

import (
	"encoding/binary"
	"unsafe"
)

// A task's arena holds the memory to which the arguments of calls point, also the memory that the
// kernel writes to. Each batch starts with an empty arena. Outside of a batch each call does.

// prepareArena empties the arena for a new call. While a batch is recorded it does nothing.
func (t *Task) prepareArena() {
	if t.recording {
		return
	}
	if t.arena == nil { // of the zero Task
		t.arena = make([]byte, ownArenaSize)
	}
	t.resetArena()
}

func (t *Task) resetArena() { t.used, t.full = 0, false }

// ownArenaSize is the size of the zero Task's arena.
const ownArenaSize = 16 << 10

// alloc returns n bytes of the arena, which are not cleared. If they do not fit, it sets
// t.full, and the call fails with ENOMEM.
func (t *Task) alloc(n int) []byte {
	at := (t.used + 7) &^ 7
	if n > len(t.arena)-at {
		t.full = true
		return make([]byte, n)
	}
	t.used = at + n
	return t.arena[at : at+n : at+n]
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// copyIn copies b into the arena and returns its address there.
func (t *Task) copyIn(b []byte) uintptr {
	at := t.alloc(len(b))
	copy(at, b)
	return address(at)
}

// cString copies a string into the arena, with a NUL behind it.
func (t *Task) cString(s string) uintptr {
	at := t.alloc(len(s) + 1)
	at[copy(at, s)] = 0
	return address(at)
}

// cStrings copies strings into the arena, with an array of pointers to them that ends with
// a null pointer.
func (t *Task) cStrings(all []string) uintptr {
	list := t.alloc(8 * (len(all) + 1))
	for i, s := range all {
		binary.NativeEndian.PutUint64(list[8*i:], uint64(t.path(s)))
	}
	binary.NativeEndian.PutUint64(list[8*len(all):], 0)
	return address(list)
}

// copyStruct copies a structure without pointers into the arena.
func copyStruct[T any](t *Task, v *T) uintptr {
	return t.copyIn(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)))
}
