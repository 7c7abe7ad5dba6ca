package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// poolFor returns a launcher with a jail that is prepared for this profile.
func poolFor(t *testing.T, p *policy.Profile) confine.Launcher {
	t.Helper()
	s := confine.Launcher{}.NewPool()
	if s == nil {
		t.Fatal("this host counts as too small for a pool")
	}
	t.Cleanup(s.Close)
	s.Keep([]*policy.Profile{p})
	return confine.Launcher{Pool: s}
}

// TestPreparedShowsNothing: a jail that was prepared shows its program what a jail without one does. The launcher
// has other files open, other variables and another directory when it is prepared than at the start.
func TestPreparedShowsNothing(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "ws/")
	tries := []attacker.Attempt{
		attacker.Try("env"), attacker.Try("cwd"), attacker.Try("fds"), attacker.Try("ids"), attacker.Try("umask"),
		attacker.Try("list", "/proc"), attacker.Try("list", "/"), attacker.Try("list", "/tmp"), attacker.Try("list", "/dev/shm"),
		attacker.Try("read", "/proc/sys/kernel/hostname"), attacker.Try("read", "/proc/self/mountinfo"), attacker.Try("read", "/proc/net/dev"),
		attacker.Try("read", "/proc/net/unix"), attacker.Try("read", "/proc/sysvipc/shm"), attacker.Try("read", "/proc/keys"), attacker.Try("capabilities"),
		attacker.Try("read", "/proc/1/environ"), attacker.Try("read", "/proc/1/cmdline"), attacker.Try("list", "/proc/1/fd"),
	}
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw})
	launcher := poolFor(t, jailtest.Asking(t, p, tries...))
	leaked, err := os.Open(dir) // while it waits
	if err != nil {
		t.Fatal(err)
	}
	defer leaked.Close()
	prepared, err := jailtest.Run(t, launcher, p, tries)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := jailtest.Run(t, confine.Launcher{}, p, tries)
	if err != nil {
		t.Fatal(err)
	}
	numbers := regexp.MustCompile(`[0-9]+`) // of mounts, processes and inodes
	for i := range tries {
		a, b := string(prepared[i]), string(fresh[i])
		if len(tries[i]) > 1 { // a file or directory
			a, b = numbers.ReplaceAllString(a, "N"), numbers.ReplaceAllString(b, "N")
		}
		if a != b {
			t.Errorf("%v: prepared %s, and not %s", tries[i], prepared[i], fresh[i])
		}
	}
}

// TestPreparedAndMounts: what is mounted after a jail was prepared is in it.
func TestPreparedAndMounts(t *testing.T) {
	if inMounts(t, "") {
		return
	}
	dir := testkit.Plant(t, "ws/sub/")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw})
	read := attacker.Try("read", dir+"/ws/sub/late")
	launcher := poolFor(t, jailtest.Asking(t, p, read))
	testkit.Eventually(t, "it has its mounts", hasInit)
	if err := unix.Mount("none", dir+"/ws/sub", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir+"/ws/sub", unix.MNT_DETACH)
	if err := os.WriteFile(filepath.Join(dir, "ws/sub/late"), []byte("LATE"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := jailtest.Run(t, launcher, p, []attacker.Attempt{read})
	if err != nil {
		t.Fatal(err)
	}
	jailtest.Expect(t, "a file of the mount", got[0], "ok LATE")
}

// hasInit reports whether a prepared process has forked the init of its jail: then it has its own mounts.
func hasInit() bool {
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for pid := range strings.FieldsSeq(string(children)) {
			if inner, _ := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children"); len(inner) > 0 {
				return true
			}
		}
	}
	return false
}
