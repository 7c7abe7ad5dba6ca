#include "textflag.h"

// func program() unsafe.Pointer
TEXT ·program(SB), NOSPLIT, $0-8
	LEAQ	·entry(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// entry is the program of a stub. This program never calls it: image copies its machine
// code, which is position-independent and ends with endMark, into an ELF file.
//
// R12 points to the mailbox of this task (struct mailbox), R15 to the current call (struct
// call). The code does not use a stack, apart from the first steps.
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0-0
	// pread64(MemoryFD, SP, 24, 0) reads the address and the size of the memory, and the
	// address of the first task's mailbox.
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

	// prctl(PR_SET_PDEATHSIG, SIGKILL). The parent may have ended before that.
	MOVL	$157, AX
	MOVL	$1, DI
	MOVL	$9, SI
	SYSCALL
	TESTQ	AX, AX
	JNE	fail

life:
	// poll(&life, 1, 0): exit if the other end of LifeFD is closed.
	MOVL	$7, AX
	LEAQ	44(R12), DI
	MOVL	$1, SI
	XORL	DX, DX
	SYSCALL
	MOVWLZX	50(R12), AX
	TESTL	$0x18, AX // POLLERR, POLLHUP
	JNE	fail

idle:
	MOVL	12(R12), R13

spin:
	MOVL	0(R12), AX
	CMPL	AX, $1
	JEQ	posted
	MOVL	$24, AX // sched_yield
	SYSCALL
	SUBL	$1, R13
	JCC	spin // until the count was 0

	// stubAsleep = 1, with a barrier before owner is read again;
	// futex(&owner, FUTEX_WAIT, owner, &lifeInterval)
	MOVL	$1, BX
	XCHGL	BX, 4(R12)
	MOVL	0(R12), AX
	CMPL	AX, $1
	JEQ	awake
	MOVQ	R12, DI
	XORL	SI, SI
	MOVL	AX, DX
	LEAQ	56(R12), R10
	MOVL	$202, AX
	SYSCALL
	CMPQ	AX, $-110 // ETIMEDOUT
	JNE	awake
	MOVL	$0, 4(R12)
	JMP	life

awake:
	MOVL	$0, 4(R12)
	JMP	idle

posted:
	MOVQ	16(R12), R14 // count
	MOVQ	24(R12), R15 // first

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
	CMPQ	AX, $-1 // storeWord
	JNE	call
	MOVL	DI, 0(SI)
	XORL	AX, AX
	JMP	parent

call:
	MOVQ	AX, R13 // the child must not read the call: the parent goes on and may reuse it
	SYSCALL
	TESTQ	AX, AX
	JNE	parent
	CMPQ	R13, $56 // clone
	JEQ	child

parent:
	MOVQ	AX, 56(R15)
	CMPQ	AX, $-4096
	JHI	refused
	TESTL	$1, 84(R15) // repeatUntil
	JEQ	next
	CMPQ	AX, 64(R15)
	JNE	again

next:
	ADDQ	$88, R15
	DECQ	R14
	JNE	each
	JMP	done

refused:
	TESTL	$2, 84(R15) // ignoreError
	JNE	next
	CMPQ	AX, 64(R15)
	JEQ	next
	CMPL	40(R12), $0 // fatal
	JNE	fail
	JMP	done

child:
	// Fork gave the child its mailbox as its stack.
	MOVQ	SP, R12
	JMP	idle

done:
	MOVQ	R14, 32(R12)
	MOVL	$2, AX
	XCHGL	AX, 0(R12) // owner = ownerLauncher, with a barrier before launcherWaiting is read
	CMPL	8(R12), $0
	JEQ	idle

	// futex(&owner, FUTEX_WAKE, allWaiters)
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
