package confine

import (
	"slices"
	"testing"

	"golang.org/x/net/bpf"
)

// TestGuardRefusesOnlyTheThreadsOfTheInit tries every call with every number
// around the guarded ones, and with garbage in the half that the kernel ignores.
func TestGuardRefusesOnlyTheThreadsOfTheInit(t *testing.T) {
	for _, arch := range bothArchs {
		raw, err := compileGuard(arch, 9)
		if err != nil {
			t.Fatal(err)
		}
		prog, _ := bpf.Disassemble(raw)
		vm, err := bpf.NewVM(prog)
		if err != nil {
			t.Fatal(err)
		}
		var guarded []uint32
		for _, name := range schedulingCalls {
			nr, ok := callNumber(arch, name)
			if !ok {
				t.Fatalf("%s has no number on %s", name, arch)
			}
			guarded = append(guarded, nr)
		}
		for nr := range uint32(600) {
			for _, tid := range []uint32{0, 1, 2, 8, 9, 10, 11, 300, 1 << 30, 1 << 31, ^uint32(0)} {
				for _, garbage := range []uint64{0, 0xdeadbeef << 32} {
					want := verdictAllow
					if slices.Contains(guarded, nr) && tid >= 1 && tid <= 9 {
						want = verdictErrno | linuxEPERM
					}
					got, err := vm.Run(seccompData(arch.audit(), nr, [6]uint64{uint64(tid) | garbage}))
					if err != nil || uint32(got) != want {
						t.Fatalf("%s: call %d of thread %#x: %#x, %v; want %#x", arch, nr, tid, got, err, want)
					}
				}
			}
		}
	}
}
