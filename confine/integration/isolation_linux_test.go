package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/supervisor"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestJailIsolation: attempts on everything that is not a file of the profile. Outside of a jail
// each attempt works.
func TestJailIsolation(t *testing.T) {
	jailtest.Needs(t)
	root := os.Getuid() == 0
	self := fmt.Sprint(os.Getpid())

	dir := testkit.Plant(t, "place/", "file")
	sockets := testkit.ShortDir(t)
	testkit.Accept(t, "unix", sockets+"/host")
	abstract := "@mcp-jail-test-" + self
	testkit.Accept(t, "unix", abstract)
	tcp := testkit.Accept(t, "tcp", "127.0.0.1:0")

	key := 0x6d630000 + os.Getpid()
	jailtest.MakeSharedMemory(t, key)
	queue := "mcp-jail-" + self
	jailtest.MakeQueue(t, queue)

	const any = "" // no control: this host has no means for one
	asRoot := func(s string) string {
		if root {
			return s
		}
		return any
	}
	scoped := "EPERM"
	if features.Detect().LandlockABI < 6 {
		scoped = "ok" // its own init: with it the server ends itself
	}
	none := "EACCES" // its init has no descriptors, as only root can see
	if root {
		none = "ENOENT"
	}
	for _, c := range []struct {
		attempt, control, want string
	}{
		// Processes of the host, and the jail's own init.
		{"kill " + self, "ok", "ESRCH"},
		{"stat /proc/" + self, "ok", "ENOENT"},
		{"stat /proc/2", any, "ENOENT"}, // its own number begins elsewhere
		{"open /proc/1/environ", "ok", "EACCES"},
		{"open /proc/1/fd/2", asRoot("ok"), none},
		{"open /proc/1/root/", "ok", "EACCES"},
		{"open /proc/1/cwd/", "ok", "EACCES"},
		{"open /proc/1/exe", "ok", "EACCES"},
		{"open /proc/1/mem", "ok", "EACCES"},
		{"open /proc/1/maps", "ok", "EACCES"},
		{"open /proc/1/ns/mnt", "ok", "EACCES"},
		{"open /proc/1/fd/4", any, none},
		{"kill 1", asRoot("ok"), scoped},
		{"ptrace", "ok", "EPERM"},
		{"readmem", "ok", "EPERM"},
		// Sockets, queues and memory of the host.
		{"dial unix " + sockets + "/host", "ok", "ENOENT"},
		{"dial unix " + abstract, "ok", "ECONNREFUSED"},
		{"dial tcp " + tcp, "ok", "ECONNREFUSED"},
		{"dial tcp " + strings.Replace(tcp, "127.0.0.1", "0.0.0.0", 1), "ok", "ECONNREFUSED"},
		{fmt.Sprint("shmget ", key), "ok", "ENOENT"},
		{"mqopen " + queue, "ok", "EPERM"},
		{"loopback", "ok", "ok"},
		{"dial udp 169.254.169.254:80", any, "ENETUNREACH"},
		{"dial tcp 169.254.169.254:80", any, "ENETUNREACH"},
		{"dial tcp [2001:db8::1]:80", any, "ENETUNREACH"},
		{fmt.Sprint("socket ", unix.AF_PACKET, unix.SOCK_RAW, 0), asRoot("ok"), "EAFNOSUPPORT"},
		{fmt.Sprint("socket ", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP), asRoot("ok"), "EAFNOSUPPORT"},
		{fmt.Sprint("socket ", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE), any, "EAFNOSUPPORT"},
		{fmt.Sprint("socket ", unix.AF_INET, unix.SOCK_STREAM, 262), any, "EPROTONOSUPPORT"},
		{fmt.Sprint("socket ", unix.AF_VSOCK, unix.SOCK_STREAM, 0), any, "EAFNOSUPPORT"},
		{fmt.Sprint("socket ", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT), "ok", "EAFNOSUPPORT"},
		{fmt.Sprint("socket ", unix.AF_UNIX, unix.SOCK_STREAM, 0), "ok", "ok"},
		// Ways out through the kernel.
		{"userns", "ok", "EPERM"},
		{"read /proc/sys/user/max_user_namespaces", any, "ok 0\n"},
		{fmt.Sprint("unshare ", unix.CLONE_NEWUSER), any, "EPERM"}, // EINVAL with threads, as here
		{fmt.Sprint("unshare ", unix.CLONE_NEWNS), asRoot("ok"), "EPERM"},
		{"setns /proc/self/ns/uts", asRoot("ok"), "EPERM"},
		{"chroot " + dir, asRoot("ok"), "EPERM"},
		{"fsopen tmpfs", asRoot("ok"), "EPERM"},
		{"mount " + dir + "/place", any, "EPERM"},
		{"umount /proc", any, "EPERM"},
		{"umount /tmp", any, "EPERM"},
		{"pivot /tmp", any, "EPERM"},
		{"keyring", "ok", "EPERM"},
		{"personality", "ok", "EPERM"},
		{"handle " + dir, "ok", "EPERM"},
		{"sticky-input", asRoot("ok"), "EPERM"},
		// What the kernel has once for a host or a user.
		{"lease " + dir + "/file", "ok", "EPERM"},
		{"lease-of " + dir + "/file", any, fmt.Sprint("ok ", unix.F_UNLCK)},
		{"io-contexts 8", "ok", "ENOSYS"},
		{"mqmake mcp-jail-made-" + self, "ok", "EPERM"},
		// What a fresh proc would let the host's root do.
		{"write /proc/sys/kernel/core_pattern", asRoot("ok"), map[bool]string{true: "EROFS", false: "EACCES"}[root]},
		{"write /proc/sys/kernel/pid_max", asRoot("ok"), map[bool]string{true: "EROFS", false: "EACCES"}[root]},
		{"write /proc/self/coredump_filter", "ok", "EROFS"},
		{"write /proc/kpagecount", any, "EACCES"},
		{"read /proc/keys", any, "EACCES"},
		{"stat /sys/kernel", "ok", "ENOENT"},
		// Devices: those that are harmless, and no other.
		{"read /dev/null", "ok", "ok"},
		{"write /dev/full", "ok", "ok"},
		{"stat /dev/urandom", "ok", "ok"},
		{"stat /dev/kmsg", any, "ENOENT"},
		{"stat /dev/mem", any, "ENOENT"},
		{"stat /dev/kvm", any, "ENOENT"},
		{"stat /dev/fuse", any, "ENOENT"},
		{"stat /dev/net", any, "ENOENT"},
		{"stat /dev/vda", any, "ENOENT"},
		{"stat /dev/console", any, "ENOENT"},
		{"stat /dev/.masked-directory", any, "ENOENT"},
		{"empty " + dir + "/file", "ok", "EPERM"},
		{"create /dev/new", any, "EROFS"},
		{"list /dev", "ok", "EACCES"},
		// Its own places.
		{"create /tmp/new", any, "ok"},
		{"create /dev/shm/new", any, "ok"},
		{"list /tmp", any, "ok"},
		{"list /", "ok", "EACCES"},
		{"create /new", any, "EROFS"},
		{"create /etc/new", any, "EROFS"},
		{"write /etc/hosts", any, "EROFS"},
		{"read /etc/hostname", any, "ok mcp-jail\n"},
	} {
		t.Run(c.attempt, func(t *testing.T) {
			t.Parallel()
			a := attacker.Attempt(strings.Fields(c.attempt))
			if c.control != any {
				// The control of an attempt on the jail's init is one on this process.
				outside := strings.Fields(strings.ReplaceAll(c.attempt, "/proc/1/", "/proc/"+self+"/"))
				got, _, _ := strings.Cut(jailtest.Unconfined(t, dir, outside)[0], " ")
				jailtest.Expect(t, "unconfined", got, c.control)
			}
			got := jailtest.Attempts(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), a)[0]
			if got == "EACCES" && strings.Contains(c.attempt, "/proc/1/fd/") {
				return // on a busy machine the server may be sooner than init, which closes what it built the jail with
			}
			jailtest.Expect(t, "in the jail", got, c.want)
		})
	}
}

// deviceAttempts change the times of /dev/full. Every user may write to it, so the attempts
// stand for what root could do to its mode.
var deviceAttempts = []attacker.Attempt{attacker.Try("write", "/dev/full"), attacker.Try("touch", "/dev/full")}

// loaders returns the dynamic loader of this host.
func loaders() (found []string) {
	for _, loader := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		if real, err := filepath.EvalSymlinks(loader); err == nil {
			found = append(found, real)
		}
	}
	return found
}

// TestJailPrograms: with a list of programs the kernel starts no other, not even a copy without
// a path, which Landlock would let pass. A listed program that needs the dynamic loader grants
// the loader, which runs any file. The plan says so.
func TestJailPrograms(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t)
	program, err := os.ReadFile("/usr/bin/true")
	testkit.Must(t, err)
	testkit.Must(t, testkit.WriteProgram(dir+"/true", program))
	tries := []attacker.Attempt{
		attacker.Try("exec", "/usr/bin/true"), attacker.Try("exec", dir+"/true"), attacker.Try("memexec", "/usr/bin/true"),
		attacker.Try("ld.so", "/usr/bin/true"), attacker.Try("ld.so", dir+"/true"),
	}
	for _, c := range []struct {
		what     string
		programs []string // besides the test's own
		want     string
	}{
		{"without a list", nil, "[ok ok ok ok ok]"},
		{"with a list", []string{"/usr/bin/cat"}, "[EACCES EACCES ENOSYS EACCES EACCES]"},
		{"with the loader on it", loaders(), "[EACCES EACCES ENOSYS ok ok]"},
	} {
		if supervisor.UnderRace && c.programs != nil {
			continue // the test is linked to the loader then
		}
		p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: policy.AllRights})
		if c.programs != nil {
			p.Programs = append([]string{p.Program}, c.programs...)
		}
		if got := jailtest.Attempts(t, p, tries...); fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.what, got, c.want)
		}
	}
}

// TestJailSocketInAGrant: before Landlock ABI 9 a server can connect to a socket of the host in
// a granted directory, read-only or not. The plan says so.
func TestJailSocketInAGrant(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.ShortDir(t)
	testkit.Accept(t, "unix", dir+"/host")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: r})
	want := "ok"
	if features.Detect().LandlockABI >= 9 {
		want = "EACCES"
	}
	jailtest.Expect(t, "connect", jailtest.Attempt(t, p, "dial", "unix", dir+"/host"), want)
	plan, err := confine.Launcher{}.Compile(p)
	testkit.Must(t, err)
	said := false
	for _, e := range plan.Enforced {
		said = said || e.Axis == policy.AxisIPC && strings.Contains(e.What, "but for sockets that a rule names or that another process makes")
	}
	if said != (want == "ok") {
		t.Errorf("connecting: %s, and the plan says so: %v", want, said)
	}
	// Masked, it is gone.
	jailtest.Expect(t, "connect to a masked one", jailtest.Attempt(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: r}, jailtest.Grant{Path: dir + "/host", Rights: 0}), "dial", "unix", dir+"/host"), "EACCES")
}

// TestJailWaivedNetwork: a waiver accepts a gap. It takes nothing away that can be enforced.
func TestJailWaivedNetwork(t *testing.T) {
	jailtest.Needs(t)
	p := gatedProfile(t, policy.NetRule{Host: "example.org", Allow: true})
	p.Waive = []policy.Axis{policy.AxisNet}
	tcp := testkit.Accept(t, "tcp", "127.0.0.1:0")
	abstract := fmt.Sprintf("@mcp-jail-waived-%d-%d", os.Getpid(), time.Now().UnixNano())
	testkit.Accept(t, "unix", abstract)
	tries := []attacker.Attempt{attacker.Try("dial", "tcp", tcp), attacker.Try("dial", "unix", abstract), attacker.Try("kill", fmt.Sprint(os.Getpid())), attacker.Try("list", "/")}
	for i, o := range jailtest.Unconfined(t, "/", tries...) {
		if attacker.Holds(o) {
			t.Errorf("unconfined: %v: %s", tries[i], o)
		}
	}
	if got, want := jailtest.Attempts(t, p, tries...), "[ECONNREFUSED ECONNREFUSED ESRCH EACCES]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
