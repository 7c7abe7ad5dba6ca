package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	procpkg "github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// inMountsEnv is set where the test is alone in a mount namespace.
const inMountsEnv = "MCPJAIL_TEST_IN_MOUNTS"

// inMounts has a test run once more in a mount namespace of its own, whose mounts
// propagate, after a shell has changed it. It returns false there.
func inMounts(t *testing.T, change string) (outside bool) {
	t.Helper()
	jailtest.Needs(t)
	if os.Getenv(inMountsEnv) != "" {
		return false
	}
	args := []string{"--mount", "--propagation", "shared"}
	if os.Getuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	args = append(args, "/bin/sh", "-ec", change+` exec "$0" -test.run "^$1\$" -test.v`, jailtest.Binary, t.Name())
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+jailtest.Binary, inMountsEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// TestDeviceMountsDoNotPropagate: a mount that the host makes on a device later does not show in
// a jail, although the jail may clone its devices before its mounts are private.
func TestDeviceMountsDoNotPropagate(t *testing.T) {
	if inMounts(t, "") {
		return
	}
	own := jail.PrivateFS{Task: &stub.Task{}}
	testkit.Must(t, own.Make())
	testkit.Must(t, jail.PrivateMounts(&stub.Task{}))
	for node, tree := range own.Devices {
		place := filepath.Join(t.TempDir(), "node")
		testkit.Must(t, os.WriteFile(place, nil, 0o600))
		testkit.Must(t, unix.MoveMount(tree, "", unix.AT_FDCWD, place, unix.MOVE_MOUNT_F_EMPTY_PATH))
		_, line, _ := strings.Cut(procpkg.ReadLine("/proc/self/mountinfo"), " "+place+" ")
		line, _, _ = strings.Cut(line, "\n")
		if line == "" || strings.Contains(line, "master:") || strings.Contains(line, "shared:") {
			t.Errorf("%s: %q", node, line)
		}
		testkit.Must(t, unix.Unmount(place, unix.MNT_DETACH))
	}
}

// TestUserNamespaceLimitCannotBeSet: if /proc/sys is read-only, as in a container, the jail says
// that only the filter refuses nested namespaces.
func TestUserNamespaceLimitCannotBeSet(t *testing.T) {
	if inMounts(t, "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys;") {
		return
	}
	p := jailtest.Profile(t)
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("read", "/etc/hostname")})...)
	proc := testkit.Get(jailtest.WaivesGaps.Start(t.Context(), p, jail.Stdio{}))(t)
	proc.Wait()
	var told []confine.Notice
	proc.OnNotice(func(r confine.Notice) { told = append(told, r) })
	if len(told) == 0 || told[0].Warning || !strings.Contains(told[0].Text, "max_user_namespaces could not be set") {
		t.Errorf("%+v", told)
	}
}

// TestHostMountsDoNotPropagate: a mount that the host makes in a granted directory after the
// start does not show in the jail. It does show in another mount namespace.
func TestHostMountsDoNotPropagate(t *testing.T) {
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
			testkit.Must(t, cmd.Start())
			finish = func() []byte { cmd.Wait(); return out.Bytes() }
		}
		testkit.Must(t, unix.Mount("none", dir+"/ws/sub", "tmpfs", 0, ""))
		for _, file := range []string{"ws/sub/late", "go/on"} {
			testkit.Must(t, os.WriteFile(filepath.Join(dir, file), []byte("LATE"), 0o644))
		}
		got := jailtest.Outcomes(t, tries, finish(), c.what)
		jailtest.Expect(t, c.what+", waiting", got[0], attacker.Succeeded)
		jailtest.Expect(t, c.what, got[1], c.want)
		testkit.Must(t, unix.Unmount(dir+"/ws/sub", unix.MNT_DETACH))
	}
}
