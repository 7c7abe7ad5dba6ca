//go:build linux

#include "textflag.h"

// func textBlocks(b []byte) int
TEXT ·textBlocks(SB), NOSPLIT, $0-32
	MOVQ	b_base+0(FP), SI
	MOVQ	b_len+8(FP), CX
	MOVQ	SI, DI
	SHRQ	$6, CX
	JZ	done
	MOVQ	$0x1f, AX // the last control character
	VMOVQ	AX, X7
	VPBROADCASTB	X7, Y7
next:
	VMOVDQU	(SI), Y0
	VMOVDQU	32(SI), Y1
	// The comparison is signed, so a byte beyond ASCII is not greater either.
	VPCMPGTB	Y7, Y0, Y0
	VPCMPGTB	Y7, Y1, Y1
	VPAND	Y1, Y0, Y0
	VPMOVMSKB	Y0, AX
	CMPL	AX, $0xffffffff
	JNE	end
	ADDQ	$64, SI
	DECQ	CX
	JNZ	next
end:
	VZEROUPPER
done:
	SUBQ	DI, SI
	MOVQ	SI, ret+24(FP)
	RET

// func markBlocks(stops, slashes *uint64, b *byte, n int)
TEXT ·markBlocks(SB), NOSPLIT, $0-32
	MOVQ	stops+0(FP), DI
	MOVQ	slashes+8(FP), R9
	MOVQ	b+16(FP), SI
	MOVQ	n+24(FP), CX
	MOVQ	$0x1f, AX
	VMOVQ	AX, X5
	VPBROADCASTB	X5, Y5
	MOVQ	$0x22, AX // the quote
	VMOVQ	AX, X6
	VPBROADCASTB	X6, Y6
	MOVQ	$0x5c, AX // the backslash
	VMOVQ	AX, X7
	VPBROADCASTB	X7, Y7
next:
	VMOVDQU	(SI), Y0
	VMOVDQU	32(SI), Y1
	VPCMPEQB	Y0, Y7, Y8
	VPCMPEQB	Y1, Y7, Y9
	VPMINUB	Y0, Y5, Y2
	VPMINUB	Y1, Y5, Y3
	VPCMPEQB	Y0, Y2, Y2
	VPCMPEQB	Y1, Y3, Y3
	VPCMPEQB	Y0, Y6, Y0
	VPCMPEQB	Y1, Y6, Y1
	VPOR	Y2, Y0, Y0
	VPOR	Y3, Y1, Y1
	VPOR	Y0, Y1, Y2
	VPOR	Y8, Y9, Y3
	VPOR	Y2, Y3, Y2
	XORL	AX, AX
	XORL	DX, DX
	VPTEST	Y2, Y2
	JZ	store
	VPMOVMSKB	Y8, DX
	VPMOVMSKB	Y9, BX
	SHLQ	$32, BX
	ORQ	BX, DX
	VPMOVMSKB	Y0, AX
	VPMOVMSKB	Y1, BX
	SHLQ	$32, BX
	ORQ	BX, AX
store:
	MOVQ	AX, (DI)
	MOVQ	DX, (R9)
	ADDQ	$8, DI
	ADDQ	$8, R9
	ADDQ	$64, SI
	DECQ	CX
	JNZ	next
	VZEROUPPER
	RET
