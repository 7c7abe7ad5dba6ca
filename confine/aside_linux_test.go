package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// inMountsEnv is set where the test is alone in a mount namespace.
const inMountsEnv = "MCPJAIL_TEST_IN_MOUNTS"

// inMounts has a test run once more in a mount namespace of its own, whose mounts
// propagate, after a shell has changed it. It returns false there.
func inMounts(t *testing.T, change string) (outside bool) {
	t.Helper()
	needsJail(t)
	if os.Getenv(inMountsEnv) != "" {
		return false
	}
	args := []string{"--mount", "--propagation", "shared"}
	if os.Getuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	args = append(args, "/bin/sh", "-ec", change+` exec "$0" -test.run "^$1\$" -test.v`, testBinary, t.Name())
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+testBinary, inMountsEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// TestDevicesStayTheirOwn: what the host mounts on a device later does not show in a
// jail, although its devices may be cloned before its mounts are private.
func TestDevicesStayTheirOwn(t *testing.T) {
	if inMounts(t, "") {
		return
	}
	own := ownFilesystems{t: &stub.Task{}}
	if err := own.make(); err != nil {
		t.Fatal(err)
	}
	if err := privateMounts(&stub.Task{}); err != nil {
		t.Fatal(err)
	}
	for node, tree := range own.devices {
		place := filepath.Join(t.TempDir(), "node")
		if err := os.WriteFile(place, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unix.MoveMount(tree, "", unix.AT_FDCWD, place, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(procLine("/proc/self/mountinfo"), " "+place+" ")
		line, _, _ = strings.Cut(line, "\n")
		if line == "" || strings.Contains(line, "master:") || strings.Contains(line, "shared:") {
			t.Errorf("%s: %q", node, line)
		}
		if err := unix.Unmount(place, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSealSaysWhatItCannot: where /proc/sys is read-only, as in a container, the jail
// says that nested namespaces are the filter's business alone.
func TestSealSaysWhatItCannot(t *testing.T) {
	if inMounts(t, "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys;") {
		return
	}
	p := jailProfile(t)
	p.Argv = append(p.Argv, probeArgs(t, []attempt{try("read", "/etc/hostname")})...)
	proc, err := allGaps.Start(t.Context(), p, Stdio{})
	if err != nil {
		t.Fatal(err)
	}
	proc.Wait()
	var told []Remark
	proc.Tell(func(r Remark) { told = append(told, r) })
	if len(told) == 0 || told[0].Warning || !strings.Contains(told[0].Text, "max_user_namespaces could not be set") {
		t.Errorf("%+v", told)
	}
}

// TestLastCapability: whoever has a filter around us that refuses to tell starts nothing,
// instead of a server whose bounding set was emptied in part.
func TestLastCapability(t *testing.T) {
	type answer struct {
		last uintptr
		err  error
	}
	below := func(n uintptr) func(uintptr) error {
		return func(c uintptr) error {
			if c < n {
				return nil
			}
			return unix.EINVAL
		}
	}
	for _, c := range []struct {
		name   string
		exists func(uintptr) error
		want   answer
	}{
		{"today's", below(41), answer{40, nil}},
		{"a newer kernel's", below(50), answer{49, nil}},
		{"all that a set can hold", below(70), answer{63, nil}},
		{"none", below(0), answer{0, unix.EINVAL}},
		{"too few", below(40), answer{0, unix.EINVAL}},
		{"refused", func(uintptr) error { return unix.EPERM }, answer{0, unix.EPERM}},
	} {
		if last, err := lastThat(c.exists); (answer{last, err}) != c.want {
			t.Errorf("%s: %d, %v, want %v", c.name, last, err, c.want)
		}
	}
	if last, err := lastCapability(); err != nil || last < unix.CAP_LAST_CAP {
		t.Errorf("of this kernel: %d, %v", last, err)
	}
}
