// Package bpftest runs BPF programs in tests, outside the kernel.
package bpftest

import (
	"testing"

	"golang.org/x/net/bpf"
)

// VM returns a machine that runs the program raw.
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
