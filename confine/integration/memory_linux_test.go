package integration

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe/probetest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestBlindWatchEndsTheJail: a limit that nobody watches is none.
func TestBlindWatchEndsTheJail(t *testing.T) {
	jailtest.Needs(t)
	probetest.Needs(t, "fresh_proc")
	fault := blindness()
	dir := testkit.Plant(t)
	for _, blind := range []bool{true, false} {
		l := confine.Launcher{Shim: jailtest.Binary}
		if blind {
			l.TestHooks.Steps = fault.strike
		} else if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		s := jailtest.BeginBy(t, l, limited(t, policy.Limits{MemoryMB: 512}, jailtest.Grant{Path: dir, Rights: r}), attacker.Try("await", dir+"/go"))
		exit := s.Finish()
		told := slices.ContainsFunc(s.Denials(), func(d policy.Denial) bool { return strings.Contains(d.Operation, "cannot be watched") })
		if told != blind || (exit.Signal == unix.SIGKILL) != blind || strings.Contains(s.Out.String(), attacker.Succeeded) == blind {
			t.Errorf("blind %t: exit %+v, %q, denials %+v", blind, exit, s.Out, s.Denials())
		}
	}
}
