package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/features/featurestest"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/supervisor"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestHostNSIsolation: attempts on everything that is not a file of the profile, in a jail
// without namespaces.
func TestHostNSIsolation(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir := testkit.Plant(t, "place/", "file")
	sockets := testkit.ShortDir(t)
	testkit.Accept(t, "unix", sockets+"/host")
	plantInto(t, sockets+"/file")
	self := fmt.Sprint(os.Getpid())
	abstract := "@mcp-jail-hostns-" + self + "-" + fmt.Sprint(time.Now().UnixNano())
	testkit.Accept(t, "unix", abstract)
	tcp := testkit.Accept(t, "tcp", "127.0.0.1:0")
	key := 0x6d640000 + os.Getpid()
	jailtest.MakeSharedMemory(t, key)
	signals := "EPERM"
	if features.Detect().LandlockABI < 6 {
		signals = "ok"
	}
	const any = ""
	for _, c := range []struct{ attempt, control, want string }{
		// Processes: their numbers show, and nothing can be done to them.
		{"kill " + self, "ok", signals},
		{"open /proc/" + self + "/environ", "ok", "EACCES"},
		{"open /proc/" + self + "/cmdline", "ok", "EACCES"},
		{"open /proc/" + self + "/mem", "ok", "EACCES"},
		{"open /proc/" + self + "/root/", "ok", "EACCES"},
		{"open /proc/" + self + "/cwd/", "ok", "EACCES"},
		{"open /proc/" + self + "/fd/0", "ok", "EACCES"},
		{"list /proc", "ok", "EACCES"},
		{"open /proc/self/environ", "ok", "EACCES"},
		{"open /proc/meminfo", "ok", "ok"},
		{"priority " + self, "ok", "EPERM"},
		{"affinity " + self, "ok", "EPERM"},
		{"rlimit " + self, "ok", "EPERM"},
		{"ptrace", "ok", "EPERM"},
		{"readmem", "ok", "EPERM"},
		// Sockets, queues and memory.
		{"dial unix " + sockets + "/host", "ok", "EAFNOSUPPORT"},
		{"dial unix " + abstract, "ok", "EAFNOSUPPORT"},
		{"dial tcp " + tcp, "ok", "EAFNOSUPPORT"},
		{"dial udp 127.0.0.1:9", "ok", "EAFNOSUPPORT"},
		{"loopback", "ok", "EAFNOSUPPORT"},
		{"socketpair", "ok", "ok"},
		{fmt.Sprint("shmget ", key), "ok", "EPERM"},
		{"mqopen none-such", "ENOENT", "EPERM"},
		{fmt.Sprint("socket ", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE), "ok", "EAFNOSUPPORT"},
		{fmt.Sprint("socket ", unix.AF_PACKET, unix.SOCK_RAW, 0), any, "EAFNOSUPPORT"},
		{fmt.Sprint("socket ", unix.AF_VSOCK, unix.SOCK_STREAM, 0), any, "EAFNOSUPPORT"},
		// The kernel.
		{"userns", any, "EPERM"},
		{fmt.Sprint("unshare ", unix.CLONE_NEWNS), any, "EPERM"},
		{"setns /proc/self/ns/uts", any, "EPERM"},
		{"chroot " + dir, any, "EPERM"},
		{"fsopen tmpfs", any, "EPERM"},
		{"mount " + dir + "/place", any, "EPERM"},
		{"pivot /tmp", any, "EPERM"},
		{"keyring", any, "EPERM"},
		{"personality", any, "EPERM"},
		{"handle " + dir, any, "EPERM"},
		{"lease " + dir + "/file", "ok", "EPERM"},
		{"io-contexts 8", "ok", "ENOSYS"},
		{"write /proc/sys/kernel/core_pattern", any, "EACCES"},
		// Files that are the host's here.
		{"list /", "ok", "EACCES"},
		{"list /tmp", "ok", "EACCES"},
		{"create /tmp/mcp-jail-hostns-" + self, "ok", "EACCES"},
		{"create /dev/shm/mcp-jail-hostns-" + self, "ok", "EACCES"},
		{"open /etc/hostname", "ok", "EACCES"},
		{"list /dev/pts", "ok", "EACCES"},
		{"open /dev/ptmx", "ok", "EACCES"},
		{"empty " + sockets + "/file", "ok", "EPERM"},
		{"write /dev/null", "ok", "ok"},
		{"open /dev/urandom", "ok", "ok"},
		// What does not hold, and the plan says so: names can be guessed.
		{"stat /etc/hostname", "ok", "ok"},
		{"stat /proc/" + self, "ok", "ok"},
	} {
		t.Run(c.attempt, func(t *testing.T) {
			t.Parallel()
			a := attacker.Attempt(strings.Fields(c.attempt))
			if c.control != any {
				got, _, _ := strings.Cut(jailtest.Unconfined(t, dir, a)[0], " ")
				if a[0] == "create" {
					os.Remove(a[1])
				}
				jailtest.Expect(t, "unconfined", got, c.control)
			}
			jailtest.Expect(t, "in the jail", jailtest.AttemptsHostNS(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), a)[0], c.want)
		})
	}
}

func TestHostNSDevices(t *testing.T) {
	jailtest.NeedsHostNS(t)
	if got := jailtest.AttemptsHostNS(t, jailtest.Profile(t), deviceAttempts...); fmt.Sprint(got) != "[ok EACCES]" {
		t.Errorf("in the jail: %v", got)
	}
}

// TestHostNSSupervisorIsNotSignalled: the server can signal neither the supervisor nor the one thread of it
// that is in the server's Landlock domain.
func TestHostNSSupervisorIsNotSignalled(t *testing.T) {
	jailtest.NeedsHostNS(t)
	featurestest.Needs(t, "landlock:6") // older ones do not restrict signals, and the plan has a gap
	if got := jailtest.AttemptsHostNS(t, jailtest.Profile(t), attacker.Try("signal-init"))[0]; got != "EPERM" {
		t.Errorf("in the jail: %s", got)
	}
}

// TestHostNSProgramsInTempDir: with a list of programs the server can execute a program on it, and
// no copy of that program in its TMPDIR. Without a list it can execute both.
func TestHostNSProgramsInTempDir(t *testing.T) {
	jailtest.NeedsHostNS(t)
	program, err := filepath.EvalSymlinks("/usr/bin/true")
	testkit.Must(t, err)
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
		if fmt.Sprint(got) != c.want {
			t.Errorf("programs %v: %v, want %s", c.programs, got, c.want)
		}
	}
}
