package tracer

// struct user_pt_regs of asm/ptrace.h.
const (
	registersSize = 34 * word
	stackPointer  = 31 * word
)
