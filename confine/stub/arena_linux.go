package stub

import (
	"encoding/binary"
	"unsafe"
)

// A task's room holds what the arguments of one call point to, or of one list, and what
// the kernel writes. Each method begins it anew, or each list.

func (t *Task) prepareArena() {
	if t.recording {
		return
	}
	if t.arena == nil { // this thread's own
		t.arena = make([]byte, ownArenaSize)
	}
	t.resetArena()
}

func (t *Task) resetArena() { t.used, t.full = 0, false }

// ownArenaSize is enough for the calls that are made by the calling thread.
const ownArenaSize = 16 << 10

// alloc is n bytes of the room, which hold whatever they hold. Where there is no room,
// the call is not to be made: see t.full.
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

// copyIn copies b into the room.
func (t *Task) copyIn(b []byte) uintptr {
	at := t.alloc(len(b))
	copy(at, b)
	return address(at)
}

// cString copies a string, with its NUL.
func (t *Task) cString(s string) uintptr {
	at := t.alloc(len(s) + 1)
	at[copy(at, s)] = 0
	return address(at)
}

// cStrings copies strings, and a list of them that ends with a null pointer.
func (t *Task) cStrings(all []string) uintptr {
	list := t.alloc(8 * (len(all) + 1))
	for i, s := range all {
		binary.NativeEndian.PutUint64(list[8*i:], uint64(t.path(s)))
	}
	binary.NativeEndian.PutUint64(list[8*len(all):], 0)
	return address(list)
}

// copyStruct copies a structure without pointers.
func copyStruct[T any](t *Task, v *T) uintptr {
	return t.copyIn(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)))
}
