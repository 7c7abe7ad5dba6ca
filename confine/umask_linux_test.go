package confine

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailUmask: a umask that takes rights from the owner is the program's and not the
// jail's, and a launcher may pass on one that it does not have itself.
func TestJailUmask(t *testing.T) {
	needsJail(t)
	testUmask(t, []policy.Axis{policy.AxisFs}, try("read", "/etc/hosts"), try("create", "/dev/shm/there"))
}

// testUmask starts programs under umasks, and has them make attempts in the jail's own
// places besides.
func testUmask(t *testing.T, waive []policy.Axis, own ...attempt) {
	t.Helper()
	asked := 0o377
	for _, c := range []struct {
		launcher Launcher
		umask    int
		want     outcome
		mode     os.FileMode // of what is made with 0644
	}{
		{Launcher{}, 0o777, "ok 777", 0},
		{Launcher{}, 0o300, "ok 300", 0o444},
		{Launcher{Umask: &asked}, 0o077, "ok 377", 0o400},
		{Launcher{Umask: new(int)}, 0o777, "ok 000", 0o644},
	} {
		dir := testkit.Plant(t, "place/")
		p := jailProfile(t, grant{dir, rw})
		p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
		attempts := append([]attempt{try("mkfile", dir+"/place/made"), try("umask"), try("tmp")}, own...)
		c.launcher.Waive = waive
		before := unix.Umask(c.umask)
		got, err := runJail(t, c.launcher, p, attempts)
		unix.Umask(before)
		if err != nil {
			t.Fatalf("under %03o: %v", c.umask, err)
		}
		expect(t, "umask", got[1], c.want)
		for i, a := range attempts {
			if !strings.HasPrefix(got[i], succeeded) {
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
