package stub

import (
	"encoding/binary"
	"unsafe"
)

// A task's room holds what the arguments of one call point to, or of one list, and what
// the kernel writes. Each method begins it anew, or each list.

func (t *Task) begin() {
	if t.recording {
		return
	}
	if t.room == nil { // this thread's own
		t.room = make([]byte, ownRoom)
	}
	t.reset()
}

func (t *Task) reset() { t.used, t.full = 0, false }

// ownRoom is enough for the calls that are made by the calling thread.
const ownRoom = 16 << 10

// space is n bytes of the room, which hold whatever they hold. Where there is no room,
// the call is not to be made: see t.full.
func (t *Task) space(n int) []byte {
	at := (t.used + 7) &^ 7
	if n > len(t.room)-at {
		t.full = true
		return make([]byte, n)
	}
	t.used = at + n
	return t.room[at : at+n : at+n]
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// put copies b into the room.
func (t *Task) put(b []byte) uintptr {
	at := t.space(len(b))
	copy(at, b)
	return address(at)
}

// text copies a string, with its NUL.
func (t *Task) text(s string) uintptr {
	at := t.space(len(s) + 1)
	at[copy(at, s)] = 0
	return address(at)
}

// texts copies strings, and a list of them that ends with a null pointer.
func (t *Task) texts(all []string) uintptr {
	list := t.space(8 * (len(all) + 1))
	for i, s := range all {
		binary.NativeEndian.PutUint64(list[8*i:], uint64(t.path(s)))
	}
	binary.NativeEndian.PutUint64(list[8*len(all):], 0)
	return address(list)
}

// object copies a structure without pointers.
func object[T any](t *Task, v *T) uintptr {
	return t.put(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)))
}
