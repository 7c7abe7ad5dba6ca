package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/oom"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe/probetest"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestMemoryWatchCounts: what was swapped out and what maps the rest is memory as well, in
// the cheap count and in the exact one; and so is a file with nothing in it.
func TestMemoryWatchCounts(t *testing.T) {
	if inMounts(t, "mount -t tmpfs none /mnt;") {
		return
	}
	const kb = 1 << 10
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/2", 0o700); err != nil {
		t.Fatal(err)
	}
	w := &oom.MemoryWatch{Proc: dir, Limit: 1 << 40, Members: proc.JailProcesses(dir)}
	for name, text := range map[string]string{
		"../meminfo":   "", // no shared memory on this host
		"status":       "VmRSS:\t100 kB\nVmSwap:\t20 kB\nVmPTE:\t3 kB\nThreads:\t1\n",
		"smaps_rollup": "Pss:\t50 kB\nSwapPss:\t10 kB\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, "2", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cheap := w.Resident("2")
	if exact := w.Proportional("2", cheap); cheap.Total != 123*kb || exact.Total != 63*kb {
		t.Errorf("%d and %d kB, want 123 and 63", cheap.Total/kb, exact.Total/kb)
	}
	w.Tmpfs = []string{"/mnt"}
	before := w.Files()
	const n = 1000
	for i := range n {
		if err := os.WriteFile(fmt.Sprint("/mnt/", i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if more := w.Files() - before; more < n*oom.InodeSize {
		t.Errorf("%d files are %d bytes", n, more)
	}
}

// TestBlindWatchEndsTheJail: a limit that nobody watches is none.
func TestBlindWatchEndsTheJail(t *testing.T) {
	jailtest.NeedsJail(t)
	probetest.Needs(t, "fresh_proc")
	fault := blindness()
	dir := testkit.Plant(t)
	for _, blind := range []bool{true, false} {
		l := confine.Launcher{Shim: jailtest.TestBinary}
		if blind {
			l.TestHooks.Steps = fault.strike
		} else if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		s := jailtest.BeginWith(t, l, limited(t, policy.Limits{MemoryMB: 512}, jailtest.Grant{Path: dir, Rights: r}), attacker.Try("await", dir+"/go"))
		exit := s.Finish()
		told := slices.ContainsFunc(s.Denials(), func(d policy.Denial) bool { return strings.Contains(d.Operation, "cannot be watched") })
		if told != blind || (exit.Signal == unix.SIGKILL) != blind || strings.Contains(s.Out.String(), attacker.Succeeded) == blind {
			t.Errorf("blind %t: exit %+v, %q, denials %+v", blind, exit, s.Out, s.Denials())
		}
	}
}
