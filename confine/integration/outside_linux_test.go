package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestHostMountsStayOutside: what the host mounts in a granted directory after the start
// was not granted, and does not show. In any other mount namespace it does.
func TestHostMountsStayOutside(t *testing.T) {
	if inMounts(t, "") {
		return
	}
	for _, c := range []struct {
		what   string
		jailed bool
		want   attacker.Outcome
	}{{"in the jail", true, "ENOENT"}, {"in another mount namespace", false, "ok LATE"}} {
		dir := testkit.Plant(t, "ws/sub/", "go/")
		tries := []attacker.Attempt{attacker.Try("await", dir+"/go/on"), attacker.Try("read", dir+"/ws/sub/late")}
		var finish func() []byte
		if c.jailed {
			s := jailtest.Begin(t, jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}, jailtest.Grant{Path: dir + "/go", Rights: r}), tries...)
			finish = func() []byte { s.Finish(); return s.Out.Bytes() }
		} else {
			var out bytes.Buffer
			cmd := exec.Command(jailtest.Binary)
			cmd.Args = append([]string{attacker.Name}, jailtest.Args(t, tries)...)
			cmd.Stdout, cmd.SysProcAttr = &out, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			finish = func() []byte { cmd.Wait(); return out.Bytes() }
		}
		if err := unix.Mount("none", dir+"/ws/sub", "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"ws/sub/late", "go/on"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte("LATE"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got := jailtest.Outcomes(t, tries, finish(), c.what)
		jailtest.Expect(t, c.what+", waiting", got[0], attacker.Succeeded)
		jailtest.Expect(t, c.what, got[1], c.want)
		if err := unix.Unmount(dir+"/ws/sub", unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}
}

func sessionKeyring() (int, error) {
	return unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
}
