package seccomp

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/bpftest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestServerGuard tries every call with every number around the guarded thread, with all flags of clone that
// matter, and with garbage in the half that the kernel ignores.
func TestServerGuard(t *testing.T) {
	const clone, thread = 0x400, 0x10000 // CLONE_FILES, CLONE_THREAD
	firsts := []uint32{0, 1, 2, 8, 300, 1 << 30, 1 << 31, ^uint32(0), clone, clone | 1, clone | 17, thread, clone | thread, thread | 17}
	for _, arch := range bothArchs {
		raw := testkit.Get(CompileServerGuard(arch))(t)
		vm := bpftest.VM(t, raw)
		refused := map[uint32]func(first uint32) bool{}
		number := func(name string) uint32 {
			nr, ok := CallNumber(arch, name)
			if !ok {
				t.Fatalf("%s has no number on %s", name, arch)
			}
			return nr
		}
		for _, name := range []string{"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"} {
			refused[number(name)] = func(first uint32) bool { return first == 1 }
		}
		refused[number("clone")] = func(first uint32) bool { return first&(clone|thread) == clone }
		for nr := range uint32(600) {
			for _, first := range firsts {
				for _, garbage := range []uint64{0, 0xdeadbeef << 32} {
					want := VerdictAllow
					if f := refused[nr]; f != nil && f(first) {
						want = verdictErrno | linuxEPERM
					}
					got, err := vm.Run(seccompData(arch.audit(), nr, [6]uint64{uint64(first) | garbage}))
					if err != nil || uint32(got) != want {
						t.Fatalf("%s: call %d with %#x: %#x, %v; want %#x", arch, nr, first, got, err, want)
					}
				}
			}
		}
	}
}

// TestSignalGuard checks that no call signals the guarded thread, and that every call
// signals the other threads.
func TestSignalGuard(t *testing.T) {
	const tid = 348
	for _, arch := range bothArchs {
		raw := testkit.Get(CompileSignalGuard(arch, tid))(t)
		vm := bpftest.VM(t, raw)
		const any = 7 // an argument that does not matter
		for _, c := range []struct {
			call    string
			args    [3]uint64
			refused bool
		}{
			{"kill", [3]uint64{tid, 9}, true}, {"kill", [3]uint64{tid | 1<<32, 9}, true}, {"kill", [3]uint64{any, tid}, false},
			{"kill", [3]uint64{^uint64(0), 9}, false},
			{"tkill", [3]uint64{tid, 9}, true}, {"tkill", [3]uint64{any, tid}, false},
			{"tgkill", [3]uint64{any, tid, 9}, true}, {"tgkill", [3]uint64{tid, any, 9}, false},
			{"rt_sigqueueinfo", [3]uint64{tid, 9}, true}, {"rt_sigqueueinfo", [3]uint64{any, 9}, false},
			{"rt_tgsigqueueinfo", [3]uint64{any, tid, 9}, true}, {"rt_tgsigqueueinfo", [3]uint64{any, any, 9}, false},
			{"pidfd_open", [3]uint64{tid, 0x80}, true}, {"pidfd_open", [3]uint64{any, tid}, false},
			{"fcntl", [3]uint64{any, 8, tid}, true}, {"fcntl", [3]uint64{any, 8, any}, false}, {"fcntl", [3]uint64{any, 15, any}, true},
			{"fcntl", [3]uint64{tid, 4, tid}, false},
			{"ioctl", [3]uint64{any, 0x8901}, true}, {"ioctl", [3]uint64{any, 0x8902}, true}, {"ioctl", [3]uint64{tid, 0x5413, tid}, false},
			{"execve", [3]uint64{tid, tid, tid}, false},
		} {
			nr, ok := CallNumber(arch, c.call)
			if !ok {
				t.Fatalf("%s has no number on %s", c.call, arch)
			}
			want := VerdictAllow
			if c.refused {
				want = verdictErrno | linuxEPERM
			}
			got, err := vm.Run(seccompData(arch.audit(), nr, [6]uint64{c.args[0], c.args[1], c.args[2]}))
			if err != nil || uint32(got) != want {
				t.Errorf("%s: %s%v: %#x, %v; want %#x", arch, c.call, c.args, got, err, want)
			}
		}
	}
}
