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
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/supervisor"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// ownPlaces are attempts on what a jail has of its own and on places of the host that the attack matrix
// does not try: outside of a jail, in one with namespaces, and in one without. DIR is granted to read
// and write, NEW is a name that no other test makes.
var ownPlaces = []struct {
	attempt               string
	control, want, hostNS attacker.Outcome // "": not tried there
}{
	{"read /dev/null", "ok", "ok", "ok"},
	{"write /dev/null", "ok", "ok", "ok"},
	{"write /dev/full", "ok", "ok", "ok"},
	{"touch /dev/full", "ok", "EROFS", "EACCES"}, // stands for what root could do to its mode
	{"open /dev/urandom", "ok", "ok", "ok"},
	{"open /proc/meminfo", "ok", "ok", "ok"},
	{"stat /dev/.masked-directory", "", "ENOENT", ""},
	{"create /dev/NEW", "", "EROFS", "EACCES"},
	{"create /tmp/NEW", "ok", "ok", "EACCES"},
	{"create /dev/shm/NEW", "ok", "ok", "EACCES"},
	{"create /etc/NEW", "", "EROFS", "EACCES"},
	{"list /tmp", "ok", "ok NEW", "EACCES"}, // what was made there
	{"list /dev/pts", "ok", "ok ptmx", "EACCES"},
	{"open /dev/ptmx", "ok", "ok", "EACCES"},
	{"read /etc/hostname", "", "ok mcp-jail\n", "EACCES"},
	{"stat /etc/hostname", "ok", "ok", "ok"}, // without namespaces names can be guessed, and the plan says so
	{"empty DIR/file", "ok", "EPERM", "EPERM"},
	{"lease-of DIR/file", "", "ok 2", ""}, // F_UNLCK: that it has none may be asked
	{"socketpair", "ok", "ok", "ok"},
	{"loopback", "ok", "ok", "EAFNOSUPPORT"},
	{"userns", "ok", "EPERM", "EPERM"},
	{"read /proc/sys/user/max_user_namespaces", "", "ok 0\n", ""},
	{"open /proc/self/environ", "ok", "ok", "EACCES"},
	{"ptrace", "ok", "EPERM", "EPERM"},
	{"readmem", "ok", "EPERM", "EPERM"},
}

// TestJailIsolation tries ownPlaces. The attack matrix has the attempts on everything else.
func TestJailIsolation(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "file")
	for i, free := range jailtest.Unconfined(t, dir, placeAttempts(dir)...) {
		if c := ownPlaces[i]; c.control != "" {
			got, _, _ := strings.Cut(free, " ")
			jailtest.Expect(t, c.attempt+" unconfined", got, c.control)
		}
	}
	for _, place := range []string{"/tmp/", "/dev/shm/", "/dev/", "/etc/"} {
		os.Remove(place + newName)
	}
	for i, got := range jailtest.Attempts(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), placeAttempts(dir)...) {
		if c := ownPlaces[i]; c.want != "" {
			jailtest.Expect(t, c.attempt, got, strings.ReplaceAll(c.want, "NEW", newName))
		}
	}
}

var newName = fmt.Sprint("mcp-jail-new-", os.Getpid())

func placeAttempts(dir string) (all []attacker.Attempt) {
	for _, c := range ownPlaces {
		all = append(all, strings.Fields(strings.NewReplacer("DIR", dir, "NEW", newName).Replace(c.attempt)))
	}
	return all
}

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
	program := testkit.Get(os.ReadFile("/usr/bin/true"))(t)
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
		testkit.Equal(t, c.what, fmt.Sprint(jailtest.Attempts(t, p, tries...)), c.want)
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
	if kernel.Detect().LandlockABI >= 9 {
		want = "EACCES"
	}
	jailtest.Expect(t, "connect", jailtest.Attempt(t, p, "dial", "unix", dir+"/host"), want)
	plan := testkit.Get(confine.Launcher{}.Compile(p))(t)
	said := false
	for _, e := range plan.Enforced {
		said = said || e.Axis == policy.AxisIPC && strings.Contains(e.What, "but for sockets that a rule names or that another process makes")
	}
	testkit.Equal(t, fmt.Sprintf("connecting: %s, and the plan says so", want), said, (want == "ok"))
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
	testkit.Equal(t, "", fmt.Sprint(jailtest.Attempts(t, p, tries...)), "[ECONNREFUSED ECONNREFUSED ESRCH EACCES]")
}
