#include "textflag.h"

// func program() unsafe.Pointer
TEXT ·program(SB), NOSPLIT, $0-8
	MOVD	$·entry(SB), R0
	MOVD	R0, ret+0(FP)
	RET

// entry is the program of a stub. It has the same steps as in entry_linux_amd64.s. R19
// points to the mailbox of this task.
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0-0
	SUB	$32, RSP
	MOVD	$67, R8 // pread64
	MOVD	$3, R0
	MOVD	RSP, R1
	MOVD	$24, R2
	MOVD	$0, R3
	SVC
	CMP	$24, R0
	BNE	fail

	MOVD	RSP, R20
	MOVD	$222, R8 // mmap
	MOVD	0(R20), R0
	MOVD	8(R20), R1
	MOVD	$3, R2
	MOVD	$0x100001, R3
	MOVD	$3, R4
	MOVD	$0, R5
	SVC
	MOVD	0(R20), R1
	CMP	R1, R0
	BNE	fail
	MOVD	16(R20), R19

	MOVD	$57, R8 // close
	MOVD	$3, R0
	SVC

	MOVD	$167, R8 // prctl
	MOVD	$1, R0
	MOVD	$9, R1
	SVC
	CBNZ	R0, fail

life: // ppoll with a timeout of 0, for which the mailbox has 16 bytes of zeros
	MOVD	$73, R8
	ADD	$44, R19, R0
	MOVD	$1, R1
	ADD	$72, R19, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	SVC
	MOVHU	50(R19), R0
	TST	$0x18, R0
	BNE	fail

idle:
	MOVWU	12(R19), R21

spin:
	LDARW	(R19), R0
	CMPW	$1, R0
	BEQ	posted
	MOVD	$124, R8 // sched_yield
	SVC
	SUBS	$1, R21
	BGE	spin // until the count was 0

	ADD	$4, R19, R22
	MOVW	$1, R1
	STLRW	R1, (R22)
	DMB	$0xB // ISH: stubAsleep is stored before owner is read again
	LDARW	(R19), R2
	CMPW	$1, R2
	BEQ	awake
	MOVD	$98, R8 // futex
	MOVD	R19, R0
	MOVD	$0, R1
	ADD	$56, R19, R3
	SVC
	CMN	$110, R0 // ETIMEDOUT
	BNE	awake
	STLRW	ZR, (R22)
	B	life

awake:
	STLRW	ZR, (R22)
	B	idle

posted:
	MOVD	16(R19), R23 // count
	MOVD	24(R19), R24 // first

each:
	MOVD	$0, R20

arg:
	ADD	R20<<1, R24, R25
	MOVHU	72(R25), R26
	CBZ	R26, plain
	SUB	$1, R26
	MOVD	$88, R21
	MUL	R21, R26, R26
	MOVD	24(R19), R21
	ADD	R21, R26, R26
	MOVD	56(R26), R26
	ADD	R20<<3, R24, R25
	MOVD	R26, 8(R25)

plain:
	ADD	$1, R20
	CMP	$6, R20
	BNE	arg

again:
	MOVD	0(R24), R8
	MOVD	8(R24), R0
	MOVD	16(R24), R1
	MOVD	24(R24), R2
	MOVD	32(R24), R3
	MOVD	40(R24), R4
	MOVD	48(R24), R5
	CMN	$1, R8 // storeWord
	BNE	call
	MOVW	R0, 0(R1)
	MOVD	$0, R0
	B	parent

call:
	SVC
	CBNZ	R0, parent
	CMP	$220, R8 // clone; the child must not read the call again
	BEQ	child

parent:
	MOVD	R0, 56(R24)
	MOVWU	84(R24), R2
	MOVD	64(R24), R3
	CMN	$4095, R0
	BHS	refused
	TBZ	$0, R2, next // repeatUntil
	CMP	R3, R0
	BNE	again

next:
	ADD	$88, R24
	SUBS	$1, R23
	BNE	each
	B	done

refused:
	TBNZ	$1, R2, next // ignoreError
	CMP	R3, R0
	BEQ	next
	MOVWU	40(R19), R1 // fatal
	CBNZW	R1, fail
	B	done

child:
	MOVD	RSP, R19
	B	idle

done:
	MOVD	R23, 32(R19)
	MOVW	$2, R1
	STLRW	R1, (R19)
	DMB	$0xB // ISH: owner is stored before launcherWaiting is read
	ADD	$8, R19, R22
	LDARW	(R22), R1
	CBZW	R1, idle
	MOVD	$98, R8 // futex
	MOVD	R19, R0
	MOVD	$1, R1
	MOVD	$0x7fffffff, R2
	SVC
	B	idle

fail:
	MOVD	$94, R8 // exit_group
	MOVD	$127, R0
	SVC
	UNDEF
	WORD	$0x62757473 // stubend.
	WORD	$0x2e646e65
