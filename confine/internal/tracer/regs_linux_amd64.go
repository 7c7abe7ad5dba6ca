package tracer

// struct user_regs_struct of asm/user_64.h.
const (
	registersSize = 27 * word
	stackPointer  = 19 * word // rsp
)
