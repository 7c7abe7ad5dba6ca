package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestInitCapabilities: no thread of the init keeps a capability. The supervisor keeps the one
// that it reads arguments with, and only if it mediates calls.
func TestInitCapabilities(t *testing.T) {
	jailtest.Needs(t)
	const none = "0000000000000000"
	for _, c := range []struct {
		what     string
		notifies kernel.Feature
		kept     string
	}{
		{"with a supervisor", kernel.Detect().SeccompNotify, fmt.Sprintf("%016x", 1<<unix.CAP_SYS_PTRACE)},
		{"without", kernel.Unavailable("for this test", ""), none},
	} {
		p := jailtest.Profile(t)
		p.Waive = []policy.Axis{policy.AxisFs}
		p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("wait")})...)
		f := kernel.Detect()
		f.SeccompNotify = c.notifies
		plan := jailtest.Compile(p, f)
		testkit.MustEqual(t, c.what, len(plan.Spec.ListenerFilter) > 0, c.kept != none)
		proc := testkit.Get(confine.Launcher{}.StartPlan(t.Context(), plan, jail.Stdio{}))(t)
		// Without any are a worker of the supervisor's, and the init.
		for _, held := range threadCapabilities(t, startedBy(proc.PID())[0]) {
			testkit.Equal(t, fmt.Sprintf("%s: the init", c.what), held, none)
		}
		testkit.Eventually(t, c.what+": a supervisor, and a thread that holds nothing", func() bool {
			empty, all := 0, 0
			for _, held := range threadCapabilities(t, proc.PID()) {
				all++
				if held == none {
					empty++
				} else if held != c.kept {
					t.Errorf("%s: a thread holds %s", c.what, held)
				}
			}
			return empty > 0 && all > 1
		})
		proc.Kill()
		proc.Wait()
	}
}

// threadCapabilities returns the union of the capability sets of each thread of a process.
func threadCapabilities(t *testing.T, pid int) (held []string) {
	t.Helper()
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, name := range threads {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var all uint64
		for line := range strings.Lines(string(b)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			if key == "CapInh" || key == "CapPrm" || key == "CapEff" {
				n := testkit.Get(strconv.ParseUint(value, 16, 64))(t)
				all |= n
			}
		}
		held = append(held, fmt.Sprintf("%016x", all))
	}
	return held
}

// TestJailProcSecrets: the jail refuses to open files of /proc that only the host's root may
// read. It also refuses root's server, whose user ID passes the check of the file's mode. The test
// reads their names from this kernel.
func TestJailProcSecrets(t *testing.T) {
	jailtest.Needs(t)
	kerneltest.Needs(t, "fresh_proc")
	names := testkit.Get(os.ReadDir("/proc"))(t)
	var tries []attacker.Attempt
	var roots []bool // it is root's, and so are these tests
	for _, d := range names {
		info, err := d.Info()
		if err != nil || !d.Type().IsRegular() || info.Mode()&0o004 != 0 && d.Name() != "keys" && d.Name() != "key-users" {
			continue
		}
		verb := "open"
		if info.Mode()&0o400 == 0 {
			verb = "write" // sysrq-trigger: it is only opened
		}
		tries = append(tries, attacker.Try(verb, "/proc/"+d.Name()))
		roots = append(roots, os.Getuid() == 0 && info.Sys().(*syscall.Stat_t).Uid == 0) // which may be nobody's in a user namespace
	}
	if len(tries) == 0 {
		t.Fatal("this /proc has no such file, not even those that every kernel has")
	}
	free := jailtest.Unconfined(t, "/", tries...)
	for i, got := range jailtest.Attempts(t, jailtest.Profile(t), tries...) {
		// Behind the mode the kernel may ask for a capability of the machine's root
		// (kmsg, CAP_SYSLOG), which a container's or a user namespace's does not have.
		if roots[i] && free[i] != "EPERM" {
			jailtest.Expect(t, tries[i].String()+" unconfined", free[i], attacker.Succeeded)
		}
		jailtest.Expect(t, tries[i].String(), got, "EACCES")
	}
}

// TestJailMountFlags: every mount of the jail is nosuid, and every mount but the nodes of /dev
// is nodev. Seccomp and no_new_privs also prevent both. This test does not cover that.
func TestJailMountFlags(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "ws/masked", "ws/hidden/", "ws/ro/x", "ws/holes/in/y", "copied/z")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw | x}, jailtest.Grant{Path: dir + "/ws/masked", Rights: 0}, jailtest.Grant{Path: dir + "/ws/hidden", Rights: 0}, jailtest.Grant{Path: dir + "/ws/ro", Rights: r},
		jailtest.Grant{Path: dir + "/ws/holes", Rights: 0}, jailtest.Grant{Path: dir + "/ws/holes/in", Rights: r})
	p.Entries = append(p.Entries, policy.Entry{
		Path: dir + "/copied", Named: "home", Kind: policy.KindDir, Rights: rw, Origin: policy.OriginHome, Rule: "home", Ephemeral: true,
	})
	jailtest.SortEntries(p)
	want := map[string]string{
		"/": "ro", "/tmp": "rw", "/dev": "ro noexec", "/dev/null": "ro noexec", "/dev/pts": "rw noexec", "/dev/shm": "rw", "/proc": "ro noexec",
		"/ws": "rw", "/ws/masked": "ro noexec", "/ws/hidden": "ro noexec", "/ws/ro": "ro noexec", "/ws/holes": "ro", "/ws/holes/in": "ro noexec", "/copied": "rw",
	}
	for line := range strings.Lines(jailtest.Attempt(t, p, "read", "/proc/self/mountinfo")) {
		f := strings.Fields(strings.TrimPrefix(line, "ok "))
		place, flags := f[4], strings.Split(f[5], ",")
		wanted := want[strings.TrimPrefix(place, dir)] + " nosuid"
		if filepath.Dir(place) != "/dev" || place == "/dev/shm" {
			wanted += " nodev"
		}
		for _, flag := range strings.Fields(wanted) {
			if !slices.Contains(flags, flag) {
				t.Errorf("%s is not %s: %s", place, flag, f[5])
			}
		}
		delete(want, strings.TrimPrefix(place, dir))
	}
	if len(want) > 0 {
		t.Errorf("not mounted: %v", want)
	}
}
