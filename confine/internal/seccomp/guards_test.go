package seccomp

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/bpftest"
)

// TestSchedulingGuard tries every call with every number
// around the guarded ones, and with garbage in the half that the kernel ignores.
func TestSchedulingGuard(t *testing.T) {
	for _, arch := range bothArchs {
		raw, err := CompileSchedulingGuard(arch, 9)
		if err != nil {
			t.Fatal(err)
		}
		vm := bpftest.VM(t, raw)
		var guarded []uint32
		for _, name := range schedulingCalls {
			nr, ok := CallNumber(arch, name)
			if !ok {
				t.Fatalf("%s has no number on %s", name, arch)
			}
			guarded = append(guarded, nr)
		}
		for nr := range uint32(600) {
			for _, tid := range []uint32{0, 1, 2, 8, 9, 10, 11, 300, 1 << 30, 1 << 31, ^uint32(0)} {
				for _, garbage := range []uint64{0, 0xdeadbeef << 32} {
					want := VerdictAllow
					if slices.Contains(guarded, nr) && tid >= 1 && tid <= 9 {
						want = verdictErrno | LinuxEPERM
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

// TestSignalGuard checks that no call signals the guarded thread, and that every call
// signals the other threads.
func TestSignalGuard(t *testing.T) {
	const tid = 348
	for _, arch := range bothArchs {
		raw, err := CompileSignalGuard(arch, tid)
		if err != nil {
			t.Fatal(err)
		}
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
				want = verdictErrno | LinuxEPERM
			}
			got, err := vm.Run(seccompData(arch.audit(), nr, [6]uint64{c.args[0], c.args[1], c.args[2]}))
			if err != nil || uint32(got) != want {
				t.Errorf("%s: %s%v: %#x, %v; want %#x", arch, c.call, c.args, got, err, want)
			}
		}
	}
}
