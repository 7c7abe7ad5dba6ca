package seccomp

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/bpftest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestNotifyConnects checks which connect calls are mediated: without namespaces none, and else all but those to IPv4
// where hosts are granted.
func TestNotifyConnects(t *testing.T) {
	for _, arch := range []Arch{ArchAMD64, archARM64} {
		nr, _ := CallNumber(arch, "connect")
		for _, c := range []struct {
			name        string
			calls       []Notify
			ipv4, other uint32 // verdicts
		}{
			{"without namespaces", NotifyRulesHostNS(false), VerdictAllow, VerdictAllow},
			{"without hosts", NotifyRules(false, false), verdictNotify, verdictNotify},
			{"with hosts", NotifyRules(false, true), VerdictAllow, verdictNotify},
		} {
			raw := testkit.Get(CompileListener(arch, Options{}, c.calls))(t)
			vm := bpftest.VM(t, raw)
			for length, want := range map[uint64]uint32{16: c.ipv4, 28: c.other, 0: c.other, 2: c.other, 24: c.other, 110: c.other, 128: c.other, 16 | 1<<32: c.ipv4} {
				got := testkit.Get(vm.Run(seccompData(arch.audit(), nr, [6]uint64{3, 0x1000, length})))(t)
				if uint32(got) != want {
					t.Errorf("%v, %s: connect with a length of %d is %#x, not %#x", arch, c.name, length, got, want)
				}
			}
		}
	}
}

// TestNotifyBinds: bind is mediated only where a plan asks for it.
func TestNotifyBinds(t *testing.T) {
	for _, arch := range []Arch{ArchAMD64, archARM64} {
		nr, _ := CallNumber(arch, "bind")
		calls := NotifyRules(true, false)
		for want, calls := range map[uint32][]Notify{VerdictAllow: calls, verdictNotify: append(slices.Clip(calls), NotifyBinds()...)} {
			vm := bpftest.VM(t, testkit.Get(CompileListener(arch, Options{}, calls))(t))
			got := testkit.Get(vm.Run(seccompData(arch.audit(), nr, [6]uint64{3, 0x1000, 16})))(t)
			testkit.Equal(t, fmt.Sprint(arch, ": bind"), uint32(got), want)
		}
	}
}
