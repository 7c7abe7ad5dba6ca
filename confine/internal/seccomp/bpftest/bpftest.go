package bpftest

import (
	"testing"

	"golang.org/x/net/bpf"
)

// machine runs a program outside of the kernel.
func VM(t testing.TB, raw []bpf.RawInstruction) *bpf.VM {
	t.Helper()
	prog, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the program holds an instruction that does not disassemble")
	}
	vm, err := bpf.NewVM(prog)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}
