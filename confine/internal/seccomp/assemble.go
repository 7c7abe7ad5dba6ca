package seccomp

import (
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
)

// Assemble writes a decision tree as a program: the test, the branch if it holds, the
// branch if it does not. Jumps share one copy of a verdict as far as they reach, because
// the kernel translates every instruction at every start.
func Assemble(root *Node) ([]bpf.RawInstruction, error) {
	e := assembler{back: make([]bpf.RawInstruction, 0, 256)}
	e.node(root, Word{})
	if len(e.back) > maxProgram {
		return nil, fmt.Errorf("seccomp: the program has %d instructions, the kernel takes %d", len(e.back), maxProgram)
	}
	slices.Reverse(e.back)
	return e.back, e.err
}

// An assembler writes a program from its end to its beginning. Jumps lead forwards only, so
// the target of a jump is written before the jump. A place is an index of back.
type assembler struct {
	back    []bpf.RawInstruction
	returns []returnPlace
	err     error
}

// A returnPlace is the nearest place of a verdict.
type returnPlace struct {
	verdict uint32
	at      int
}

func (e *assembler) put(ins bpf.RawInstruction, err error) (at int) {
	if err != nil {
		e.err = err
	}
	e.back = append(e.back, ins)
	return len(e.back) - 1
}

// reaches reports whether a conditional jump can lead to a place. It leaves room for the
// two plain jumps that near may add before it.
func (e *assembler) reaches(at int) bool { return len(e.back)-at <= 255-2 }

func (e *assembler) near(at int) int {
	if e.reaches(at) {
		return at
	}
	return e.put(bpf.Jump{Skip: uint32(len(e.back) - at - 1)}.Assemble())
}

// node writes a tree and returns where it begins. loaded is the word in the accumulator at
// that point, or the zero Word if it is unknown.
func (e *assembler) node(n *Node, loaded Word) int {
	if n.leaf() {
		return e.leaf(n.Verdict)
	}
	no := e.node(n.no, n.word)
	yes := e.node(n.yes, n.word)
	no, yes = e.near(no), e.near(yes)
	next := len(e.back) - 1
	at := e.put(bpf.JumpIf{Cond: n.op, Val: n.k, SkipTrue: uint8(next - yes), SkipFalse: uint8(next - no)}.Assemble())
	if loaded == n.word {
		return at
	}
	if n.word.Mask != AllBits {
		e.put(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: n.word.Mask}.Assemble())
	}
	return e.put(bpf.LoadAbsolute{Off: n.word.Off, Size: 4}.Assemble())
}

func (e *assembler) leaf(verdict uint32) int {
	i := slices.IndexFunc(e.returns, func(r returnPlace) bool { return r.verdict == verdict })
	if i >= 0 && e.reaches(e.returns[i].at) {
		return e.returns[i].at
	}
	r := returnPlace{verdict, e.put(bpf.RetConstant{Val: verdict}.Assemble())}
	if i >= 0 {
		e.returns[i] = r
	} else {
		e.returns = append(e.returns, r)
	}
	return r.at
}
