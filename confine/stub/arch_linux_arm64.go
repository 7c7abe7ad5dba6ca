package stub

import "golang.org/x/sys/unix"

const machine = 183 // EM_AARCH64

const sysFstatat = unix.SYS_FSTATAT

// cloneArgs are those of clone(2) in this architecture's order.
func cloneArgs(flags, stack, parentTID, childTID uintptr) [5]uintptr {
	return [5]uintptr{flags, stack, parentTID, 0, childTID}
}
