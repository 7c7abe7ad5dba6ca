package stub

import "golang.org/x/sys/unix"

const machine = 62 // EM_X86_64

const sysFstatat = unix.SYS_NEWFSTATAT

// cloneArgs are those of clone(2) in this architecture's order.
func cloneArgs(flags, stack, parentTID, childTID uintptr) [5]uintptr {
	return [5]uintptr{flags, stack, parentTID, childTID, 0}
}
