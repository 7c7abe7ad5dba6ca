#include "textflag.h"

// func program() unsafe.Pointer
TEXT ·program(SB), NOSPLIT, $0-8
	LEAQ	·entry(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// entry is where a stub begins. It is no function of this program: its machine code is
// copied into a program of its own, and refers to nothing but itself. It ends with the
// mark that image looks for.
//
// R12 is the box of this task: see there for the offsets. The stack serves for nothing,
// and need not be one.
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0-0
	// pread64(MemoryFD, SP, 24, 0): the address that the memory is to have, its size, the
	// address of the first box
	SUBQ	$32, SP
	MOVL	$17, AX
	MOVL	$3, DI
	MOVQ	SP, SI
	MOVL	$24, DX
	XORL	R10, R10
	SYSCALL
	CMPQ	AX, $24
	JNE	fail

	// mmap(address, size, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_FIXED_NOREPLACE, MemoryFD, 0)
	MOVL	$9, AX
	MOVQ	0(SP), DI
	MOVQ	8(SP), SI
	MOVL	$3, DX
	MOVL	$0x100001, R10
	MOVL	$3, R8
	XORL	R9, R9
	SYSCALL
	CMPQ	AX, 0(SP)
	JNE	fail
	MOVQ	16(SP), R12

	// close(MemoryFD)
	MOVL	$3, AX
	MOVL	$3, DI
	SYSCALL

	// prctl(PR_SET_PDEATHSIG, SIGKILL); and then it is too late to ask, if the other end of
	// LifeFD is gone: poll({LifeFD, 0}, 1, 0)
	MOVL	$157, AX
	MOVL	$1, DI
	MOVL	$9, SI
	SYSCALL
	TESTQ	AX, AX
	JNE	fail
	MOVQ	$4, 0(SP)
	MOVL	$7, AX
	MOVQ	SP, DI
	MOVL	$1, SI
	XORL	DX, DX
	SYSCALL
	MOVWLZX	6(SP), AX
	TESTL	$0x18, AX // POLLERR, POLLHUP
	JNE	fail

idle:
	MOVL	12(R12), R13

spin:
	MOVL	0(R12), AX
	CMPL	AX, $1
	JEQ	posted
	MOVL	$24, AX // sched_yield: whoever has something to do goes first
	SYSCALL
	SUBL	$1, R13
	JCC	spin // until it was 0

	// asleep = 1, for all to see before turn is looked at once more;
	// futex(&turn, FUTEX_WAIT, turn, no timeout)
	MOVL	$1, BX
	XCHGL	BX, 4(R12)
	MOVL	0(R12), AX
	CMPL	AX, $1
	JEQ	awake
	MOVQ	R12, DI
	XORL	SI, SI
	MOVL	AX, DX
	XORL	R10, R10
	MOVL	$202, AX
	SYSCALL

awake:
	MOVL	$0, 4(R12)
	JMP	idle

posted:
	MOVQ	16(R12), R14 // how many calls
	MOVQ	24(R12), R15 // the first of them

each:
	XORL	BX, BX

arg:
	MOVWLZX	72(R15)(BX*2), AX
	TESTL	AX, AX
	JEQ	plain
	DECL	AX
	IMULQ	$88, AX
	ADDQ	24(R12), AX
	MOVQ	56(AX), AX
	MOVQ	AX, 8(R15)(BX*8)

plain:
	INCL	BX
	CMPL	BX, $6
	JNE	arg

again:
	MOVQ	8(R15), DI
	MOVQ	16(R15), SI
	MOVQ	24(R15), DX
	MOVQ	32(R15), R10
	MOVQ	40(R15), R8
	MOVQ	48(R15), R9
	MOVQ	0(R15), AX
	CMPQ	AX, $-1 // put
	JNE	call
	MOVL	DI, 0(SI)
	XORL	AX, AX
	JMP	parent

call:
	MOVQ	AX, R13 // the parent goes on: whose list it is by then, the child cannot know
	SYSCALL
	TESTQ	AX, AX
	JNE	parent
	CMPQ	R13, $56 // clone
	JEQ	child

parent:
	MOVQ	AX, 56(R15)
	CMPQ	AX, $-4096
	JHI	refused
	TESTL	$1, 84(R15) // until
	JEQ	next
	CMPQ	AX, 64(R15)
	JNE	again

next:
	ADDQ	$88, R15
	DECQ	R14
	JNE	each
	JMP	done

refused:
	TESTL	$2, 84(R15) // whatever
	JNE	next
	CMPQ	AX, 64(R15)
	JEQ	next
	CMPL	40(R12), $0 // fatal
	JNE	fail
	JMP	done

child:
	// What it was given as its stack is its box.
	MOVQ	SP, R12
	JMP	idle

done:
	MOVQ	R14, 32(R12)
	MOVL	$2, AX
	XCHGL	AX, 0(R12) // turn = 2, for all to see before waiting is looked at
	CMPL	8(R12), $0
	JEQ	idle

	// futex(&turn, FUTEX_WAKE, everybody)
	MOVQ	R12, DI
	MOVL	$1, SI
	MOVL	$0x7fffffff, DX
	MOVL	$202, AX
	SYSCALL
	JMP	idle

fail:
	// exit_group(127)
	MOVL	$231, AX
	MOVL	$127, DI
	SYSCALL
	UNDEF
	LONG	$0x62757473 // stubend.
	LONG	$0x2e646e65
