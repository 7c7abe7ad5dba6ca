package stub

const machine = 62 // EM_X86_64

// cloneArgs returns the arguments of clone(2) in this architecture's order.
func cloneArgs(flags, stack, parentTID, childTID uintptr) [5]uintptr {
	return [5]uintptr{flags, stack, parentTID, childTID, 0}
}
