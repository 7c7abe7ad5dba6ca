package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
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
		attacker.Try("read", "/proc/1/maps"), attacker.Try("read", "/proc/1/mem"), attacker.Try("read", "/proc/1/timers"), attacker.Try("read", "/proc/self/cgroup"),
		attacker.Try("read", "/proc/self/timers"), attacker.Try("read", "/proc/key-users"), attacker.Try("keyring"), attacker.Try("secure-bits"),
		attacker.Try("status", "Pid", "PPid", "NSpid", "NSpgid", "NSsid"),
	}
	withNumbers := len(tries) // from here on
	tries = append(tries,
		attacker.Try("status", "SigBlk", "SigIgn", "SigCgt", "ShdPnd", "NoNewPrivs", "Seccomp", "Seccomp_filters", "Groups", "FDSize", "CoreDumping", "CapBnd"),
		attacker.Try("read", "/proc/self/limits"), attacker.Try("read", "/proc/self/oom_score_adj"), attacker.Try("read", "/proc/self/coredump_filter"),
		attacker.Try("read", "/proc/self/timerslack_ns"), attacker.Try("read", "/proc/self/personality"), attacker.Try("read", "/proc/self/loginuid"),
		attacker.Try("read", "/proc/self/uid_map"), attacker.Try("read", "/proc/self/gid_map"), attacker.Try("read", "/proc/1/limits"), attacker.Try("read", "/proc/1/oom_score_adj"))
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw})
	launcher := poolFor(t, jailtest.Asking(t, p, tries...))
	pid := builtFor(t, dir+"/ws")
	launcher.UserHome = dir     // a session sets it after it has made the pool
	leaked, err := os.Open(dir) // while it waits
	testkit.Must(t, err)
	defer leaked.Close()
	started := jailtest.BeginBy(t, launcher, p, tries...)
	if started.PID() != pid {
		t.Errorf("process %d, and not the jail of %d, which was built ahead", started.PID(), pid)
	}
	exit := started.Finish()
	prepared := jailtest.Outcomes(t, tries, started.Out.Bytes(), fmt.Sprint(exit))
	fresh := testkit.Get(jailtest.Run(t, confine.Launcher{}, p, tries))(t)
	numbers := regexp.MustCompile(`[0-9]+`) // of mounts, processes and inodes
	for i := range tries {
		a, b := string(prepared[i]), string(fresh[i])
		if len(tries[i]) > 1 && i < withNumbers { // a file or directory
			a, b = numbers.ReplaceAllString(a, "N"), numbers.ReplaceAllString(b, "N")
		}
		testkit.Equal(t, fmt.Sprintf("%v: prepared %s, and not %s", tries[i], prepared[i], fresh[i]), a, b)
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
	testkit.Must(t, unix.Mount("none", dir+"/ws/sub", "tmpfs", 0, ""))
	defer unix.Unmount(dir+"/ws/sub", unix.MNT_DETACH)
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "ws/sub/late"), []byte("LATE"), 0o644))
	got := testkit.Get(jailtest.Run(t, launcher, p, []attacker.Attempt{read}))(t)
	jailtest.Expect(t, "a file of the mount", got[0], "ok LATE")
}

// hasInit reports whether a prepared process has forked the init of its jail: then it has its own mounts.
func hasInit() bool {
	return slices.ContainsFunc(childrenOf("self"), func(pid string) bool { return len(childrenOf(pid)) > 0 })
}

// builtFor waits until a child process has a mount at this path, and returns the child's ID.
func builtFor(t *testing.T, path string) (pid int) {
	t.Helper()
	testkit.Eventually(t, "the jail is built", func() bool {
		for _, child := range childrenOf("self") {
			mounts, _ := os.ReadFile("/proc/" + child + "/mountinfo")
			if strings.Contains(string(mounts), " "+path+" ") {
				pid, _ = strconv.Atoi(child)
			}
		}
		return pid > 0
	})
	return pid
}

func childrenOf(pid string) (all []string) {
	tasks, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
	for _, task := range tasks {
		pids, _ := os.ReadFile(task)
		all = append(all, strings.Fields(string(pids))...)
	}
	return all
}

// TestPreparedAndSecrets: a file that a new start would hide, and that appeared after a jail was prepared, is hidden:
// a start under the profile as it is resolved then does not get the jail.
func TestPreparedAndSecrets(t *testing.T) {
	jailtest.Needs(t)
	for _, name := range []string{"", ".env", "sub/.env.local"} {
		dir := testkit.Plant(t, "ws/sub/beside", "home/")
		read := []attacker.Attempt{attacker.Try("read", dir+"/ws/sub/beside"), attacker.Try("read", filepath.Join(dir, "ws", name))}
		now := func() *policy.Profile { return jailtest.Asking(t, resolvedIn(t, dir), read...) }
		launcher := poolFor(t, now())
		pid := builtFor(t, dir+"/ws")
		if name != "" {
			testkit.PlantBelow(t, dir, "ws/"+name)
		}
		started := jailtest.BeginBy(t, launcher, now(), read...)
		exit := started.Finish()
		got := jailtest.Outcomes(t, read, started.Out.Bytes(), fmt.Sprint(exit))
		jailtest.Expect(t, "the file beside "+name, got[0], "ok beside")
		if name == "" {
			testkit.Equal(t, "nothing has changed, and the start does not get the jail", started.PID(), pid)
			continue
		}
		if started.PID() == pid || got[1] != "EACCES" {
			t.Errorf("%s: by the prepared jail: %t; it is read: %s", name, started.PID() == pid, got[1])
		}
	}
}

// resolvedIn resolves the default policy of the attacker in the workspace dir/ws with the home dir/home.
func resolvedIn(t *testing.T, dir string) *policy.Profile {
	t.Helper()
	host := testkit.Get(hostfs.LocalHost())(t)
	host.Dir, host.Home, host.StateDir, host.CacheDir, host.ConfigDir = dir+"/ws", dir+"/home", dir+"/home/state", dir+"/home/cache", dir+"/home/config"
	rules, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{jailtest.Binary}, Workspace: dir + "/ws"})
	testkit.Must(t, err)
	p, _, err := resolve.Resolve(rules, host)
	testkit.Must(t, err)
	p.Argv[0] = attacker.Name
	for _, e := range p.Entries {
		if e.Make {
			testkit.Must(t, os.MkdirAll(e.Path, 0o700))
		}
	}
	return p
}
