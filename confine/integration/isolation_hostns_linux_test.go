package integration

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/confine/internal/supervisor"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestHostNSIsolation is TestJailIsolation without namespaces.
func TestHostNSIsolation(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir := testkit.Plant(t, "file")
	places := placesOf(t, "own-places.txt", dir)
	for i, got := range jailtest.AttemptsHostNS(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), places.attempts...) {
		places.check(t, i, withoutNS, got)
	}
}

// TestHostNSSupervisorIsNotSignalled: the server can signal neither the supervisor nor the one thread of it
// that is in the server's Landlock domain.
func TestHostNSSupervisorIsNotSignalled(t *testing.T) {
	jailtest.NeedsHostNS(t)
	kerneltest.Needs(t, "landlock:6") // older ones do not restrict signals, and the plan has a gap
	if got := jailtest.AttemptsHostNS(t, jailtest.Profile(t), attacker.Try("signal-init"))[0]; got != "EPERM" {
		t.Errorf("in the jail: %s", got)
	}
}

// TestHostNSProgramsInTempDir: with a list of programs the server can execute a program on it, and
// no copy of that program in its TMPDIR. Without a list it can execute both.
func TestHostNSProgramsInTempDir(t *testing.T) {
	jailtest.NeedsHostNS(t)
	program := testkit.Get(filepath.EvalSymlinks("/usr/bin/true"))(t)
	for _, c := range []struct {
		programs []string // besides the test's own
		want     string
	}{
		{nil, "[ok ok]"},
		{append(loaders(), program), "[ok EACCES]"},
	} {
		if supervisor.UnderRace && c.programs != nil {
			continue // the test is linked to the loader then
		}
		p := jailtest.Profile(t)
		p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
		if c.programs != nil {
			p.Programs = append([]string{p.Program}, c.programs...)
		}
		got := jailtest.AttemptsHostNS(t, p, attacker.Try("exec", program), attacker.Try("exec-in-tmp", program))
		testkit.Equal(t, fmt.Sprintf("programs %v", c.programs), fmt.Sprint(got), c.want)
	}
}
