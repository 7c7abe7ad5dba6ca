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

// TestJailIsolation tries ownPlaces. The attack matrix has the attempts on everything else.
func TestJailIsolation(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "file")
	places := placesOf(t, "own-places.txt", dir)
	for i, free := range jailtest.Unconfined(t, dir, places.attempts...) {
		first, _, _ := strings.Cut(free, " ")
		places.check(t, i, control, first)
	}
	for _, place := range []string{"/tmp/", "/dev/shm/", "/dev/", "/etc/"} {
		os.Remove(place + newName)
	}
	for i, got := range jailtest.Attempts(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), places.attempts...) {
		places.check(t, i, jailed, got)
	}
}

var newName = fmt.Sprint("mcp-jail-new-", os.Getpid())

// places are the rows of a file below testdata: an attempt, and its outcomes outside of a jail, in one with
// namespaces, and in one without, "" where it is not tried.
type places struct {
	rows     [][]string
	attempts []attacker.Attempt
}

const (
	control = 1 + iota
	jailed
	withoutNS
)

func placesOf(t *testing.T, file, dir string) (p places) {
	p.rows = rows(t, file, 4)
	for _, row := range p.rows {
		p.attempts = append(p.attempts, jailtest.Tries(dir, strings.ReplaceAll(row[0], "NEW", newName))...)
	}
	return p
}

func (p places) check(t *testing.T, i, where int, got attacker.Outcome) {
	t.Helper()
	if want := p.rows[i][where]; want != "" {
		testkit.Equal(t, p.rows[i][0]+[]string{"", " unconfined", "", " without namespaces"}[where], got, strings.ReplaceAll(want, "NEW", newName))
	}
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
