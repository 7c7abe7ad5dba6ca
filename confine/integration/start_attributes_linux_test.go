package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestJailUmask: a umask that takes rights from the owner applies to the program and not to the
// jail. A launcher may pass on a umask that it does not have itself.
func TestJailUmask(t *testing.T) {
	jailtest.Needs(t)
	testUmask(t, []policy.Axis{policy.AxisFs}, attacker.Try("read", "/etc/hosts"), attacker.Try("create", "/dev/shm/there"))
}

// testUmask starts programs under umasks, and has them make attempts in the jail's own
// places besides.
func testUmask(t *testing.T, waive []policy.Axis, own ...attacker.Attempt) {
	t.Helper()
	asked := 0o377
	for _, c := range []struct {
		launcher confine.Launcher
		umask    int
		want     attacker.Outcome
		mode     os.FileMode // of what is made with 0644
	}{
		{confine.Launcher{}, 0o777, "ok 777", 0},
		{confine.Launcher{}, 0o300, "ok 300", 0o444},
		{confine.Launcher{Umask: &asked}, 0o077, "ok 377", 0o400},
		{confine.Launcher{Umask: new(int)}, 0o777, "ok 000", 0o644},
	} {
		dir := testkit.Plant(t, "place/")
		p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
		p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
		attempts := append([]attacker.Attempt{attacker.Try("mkfile", dir+"/place/made"), attacker.Try("umask"), attacker.Try("tmp")}, own...)
		c.launcher.Waive = waive
		before := unix.Umask(c.umask)
		got, err := jailtest.Run(t, c.launcher, p, attempts)
		unix.Umask(before)
		if err != nil {
			t.Fatalf("under %03o: %v", c.umask, err)
		}
		jailtest.Expect(t, "umask", got[1], c.want)
		for i, a := range attempts {
			if !strings.HasPrefix(got[i], attacker.Succeeded) {
				t.Errorf("under %03o, %s: %s", c.umask, a, got[i])
			}
		}
		if fi, err := os.Stat(dir + "/place/made"); err != nil {
			t.Error(err)
		} else if fi.Mode().Perm() != c.mode {
			t.Errorf("under %03o it made a file of mode %v, want %v", c.umask, fi.Mode(), c.mode)
		}
	}
}
