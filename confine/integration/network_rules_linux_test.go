package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestNetworkRules: there is a row for each way to ask for what a rule grants or does not. Outside of a
// jail each attempt succeeds. Packages egress and policy test how rules match.
func TestNetworkRules(t *testing.T) {
	needsTestNetwork(t)
	local := hostService(t, "127.0.0.1:0")
	service, itself := fmt.Sprint("127.0.0.1:", local), fmt.Sprint("connect localhost:", local)
	tcp := func(host string, port int) policy.NetRule {
		return policy.NetRule{Host: host, Scheme: "tcp", Port: port, Allow: true}
	}
	unused := []policy.NetRule{host("unused.test")}
	const refused, unknown = "ECONNREFUSED", "no such host"
	for _, c := range []struct {
		rules   []policy.NetRule
		attempt string
		want    string // is in what came of it
		denial  string // OPERATION TARGET, "" for none
	}{
		// Names.
		{[]policy.NetRule{host("both.test")}, "get https://both.test/", "this is both.test", ""},
		{[]policy.NetRule{host("six.test")}, "get https://six.test/", "this is six.test at [2001:db8::12]", ""},
		{[]policy.NetRule{host("*.wild.test")}, "get https://a.wild.test/", "this is a.wild.test", ""},
		{[]policy.NetRule{host("good.test")}, "get http://other.test/", unknown, "resolve other.test"},
		{[]policy.NetRule{host("*.test"), {Host: "other.test"}}, "get http://other.test/", unknown, "resolve other.test"},
		{[]policy.NetRule{host("*.test"), {Host: "other.test"}}, "get http://good.test/", "this is good.test", ""},
		// Ports and schemes.
		{[]policy.NetRule{tcp("good.test", 7000)}, "greeted good.test:7000", "hello from 198.51.100.10", ""},
		{[]policy.NetRule{host("good.test")}, "greeted good.test:7000", refused, "connect good.test:7000"},
		{[]policy.NetRule{{Host: "good.test", Scheme: "https", Allow: true}}, "get http://good.test/", refused, "connect good.test:80"},
		{[]policy.NetRule{host("closed.test")}, "greeted closed.test:80", "ECONNRESET", ""}, // refused by the host itself, after it was accepted here
		// Addresses behind names.
		{[]policy.NetRule{host("private.test")}, "get http://private.test/", unknown, "resolve private.test"},
		{[]policy.NetRule{tcp("loopback.test", local)}, fmt.Sprint("greeted loopback.test:", local), unknown, "resolve loopback.test"},
		// Addresses by themselves.
		{[]policy.NetRule{host("198.51.100.10")}, "get http://198.51.100.10/", "this is 198.51.100.10", ""},
		{[]policy.NetRule{host("2001:db8::12")}, "get http://[2001:db8::12]/", "at [2001:db8::12]", ""},
		{[]policy.NetRule{host("good.test")}, "get http://198.51.100.20/", "", "connect 198.51.100.20:80"},
		{[]policy.NetRule{host("good.test")}, "get http://[2001:db8::11]/", "", "connect [2001:db8::11]:80"},
		{[]policy.NetRule{host("*")}, "get http://10.9.9.9/", "", "connect 10.9.9.9:80"},
		{unused, "greeted 198.51.100.10:7000", refused, "connect 198.51.100.10:7000"},
		{unused, "greeted [2001:db8::11]:7000", refused, "connect [2001:db8::11]:7000"},
		// The host itself.
		{[]policy.NetRule{tcp("localhost", local)}, "greeted " + service, "the host's own", ""},
		{[]policy.NetRule{tcp("localhost", local)}, fmt.Sprint("greeted localhost:", local), "the host's own", ""},
		{unused, "greeted " + service, refused, itself},
		{[]policy.NetRule{tcp("*", local)}, "greeted " + service, "", itself},
		// A granted address, another name.
		{[]policy.NetRule{host("good.test")}, "asked good.test:80 good.test", "this is good.test", ""},
		{[]policy.NetRule{host("good.test")}, "asked good.test:80 twin.test", "", "connect good.test:80"},
	} {
		a := attacker.Attempt(strings.Fields(c.attempt))
		t.Run(fmt.Sprint(c.attempt, " with ", c.rules[0].Host), func(t *testing.T) {
			if c.denial != "" {
				if got := jailtest.Unconfined(t, "/", a)[0]; !strings.HasPrefix(got, attacker.Succeeded) {
					t.Errorf("the control: %s", got)
				}
			}
			p := jailtest.Profile(t, jailtest.Grant{Path: networkFile("ca.pem"), Rights: policy.Read})
			p.Env, p.Net = clientEnv(), c.rules
			got, denials, unanswered := attemptNoting(t, p, a)
			if c.denial == itself && !jailtest.HostNS { // no rule is about it, and the jail has a loopback of its own
				if len(unanswered) != 1 || unanswered[0].Host != "localhost" || unanswered[0].Port != local {
					t.Errorf("unanswered %+v, want localhost:%d", unanswered, local)
				}
				c.denial = ""
			} else if len(unanswered) != 0 {
				t.Errorf("unanswered %+v, want none", unanswered)
			}
			if c.want == "" {
				if strings.HasPrefix(got, attacker.Succeeded) {
					t.Errorf("%s", got)
				}
			} else if !strings.Contains(got, c.want) {
				t.Errorf("%s, want %q in it", got, c.want)
			}
			operation, target, _ := strings.Cut(c.denial, " ")
			if c.denial == "" && len(denials) != 0 || c.denial != "" && (!refusedTarget(denials, operation, target) || len(denials) != 1) {
				t.Errorf("refused %+v, want %q", denials, c.denial)
			}
		})
	}
}

// attemptIn makes one attempt in a jail and returns the refusals too.
func attemptIn(t testing.TB, p *policy.Profile, a attacker.Attempt) (attacker.Outcome, []policy.Denial) {
	t.Helper()
	got, denials, _ := attemptNoting(t, p, a)
	return got, denials
}

// attemptNoting is attemptIn with the ports of the loopback at which no program listened.
func attemptNoting(t testing.TB, p *policy.Profile, a attacker.Attempt) (attacker.Outcome, []policy.Denial, []policy.Unanswered) {
	t.Helper()
	var out bytes.Buffer
	proc, wait, err := jailtest.Start(t, confine.Launcher{}, jailtest.Asking(t, p, a), &out, io.Discard)
	testkit.Must(t, err)
	proc.Wait()
	wait()
	return jailtest.Outcomes(t, []attacker.Attempt{a}, out.Bytes(), "")[0], proc.Denials(), proc.Unanswered(time.Time{})
}

// TestNetworkNamesKeepAddresses: the launcher asks the host's resolver for granted names and for
// no others.
func TestNetworkNamesKeepAddresses(t *testing.T) {
	needsTestNetwork(t)
	p := gatedProfile(t, host("good.test"), host("*.wild.test"))
	secret := strings.ReplaceAll(fmt.Sprint("leak-", time.Now().UnixNano()), "-", "")
	got := jailtest.Attempts(t, p, attacker.Try("looked-up", "good.test"), attacker.Try("looked-up", secret+".other.test"),
		attacker.Try("resolve", "198.51.100.53:53"), attacker.Try("resolve", "8.8.8.8:53"), attacker.Try("resolve", "[2001:db8::99]:53"), attacker.Try("resolve", "127.0.0.1:53"))
	for i, want := range []string{"198.51.100.10", "no such host", "ok", "ok", "ok", "ok"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%d: %s, want %q", i, got[i], want) // the gateway answers for every resolver
		}
	}
	r := testkit.Get(http.Get("http://198.51.100.53/"))(t)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || !strings.Contains(string(b), "good.test") {
		t.Fatalf("the control: %v, %q", err, b)
	}
	if strings.Contains(string(b), secret) || strings.Contains(string(b), "secret.example") {
		t.Errorf("the name left the jail:\n%s", b)
	}
}

// TestNetworkIsolation: a server that knows of the gateway finds no way around it. Without
// namespaces it can neither listen nor use UNIX sockets.
func TestNetworkIsolation(t *testing.T) {
	needsTestNetwork(t)
	abstract := fmt.Sprintf("@mcp-jail-test-%d", time.Now().UnixNano())
	testkit.Accept(t, "unix", abstract)
	attempt := func(what string) string {
		p := gatedProfile(t, policy.NetRule{Host: "good.test", Scheme: "tcp", Port: 7000, Allow: true}, host("good.test"))
		got, _ := attemptIn(t, p, attacker.Attempt(strings.Fields(what)))
		return got
	}
	for _, c := range []struct{ attempt, want, hostNS string }{
		{"taken 0.0.0.0:8080", "ok", "EACCES"}, // the control
		{"taken 0.0.0.0:7000", "EADDRINUSE", "EACCES"},
		{"taken 127.0.0.1:7000", "EADDRINUSE", "EACCES"},
		{"taken 198.51.100.10:7000", "EADDRINUSE", "EACCES"},
		{"taken [::]:7000", "EADDRINUSE", "EACCES"},
		{"taken 198.51.100.10:80", "EACCES", ""},
		{"echo-udp 198.51.100.10:443", "ECONNREFUSED", "no answer"},
		{"echo-udp 198.51.100.10:7000", "ECONNREFUSED", "no answer"},
		{"echo-udp [2001:db8::11]:443", "ECONNREFUSED", "no answer"},
		{"unix " + abstract, "ECONNREFUSED", "EAFNOSUPPORT"},
		{"unix /run/dbus/system_bus_socket", "ENOENT", "EAFNOSUPPORT"},
		{"unix /run/systemd/resolve/io.systemd.Resolve", "ENOENT", "EAFNOSUPPORT"},
		{"unix /run/nscd/socket", "ENOENT", "EAFNOSUPPORT"},
		{"short-names", "ok", ""},
		{"send-descriptor 198.51.100.53:53", "ok", keptDescriptors()},
		{"interfaces", "nothing", "EAFNOSUPPORT"},
		{"loopback", "ok", "EACCES"},
	} {
		want := c.want
		if jailtest.HostNS && c.hostNS != "" {
			want = c.hostNS
		}
		testkit.Contains(t, c.attempt, attempt(c.attempt), want)
	}
	// The init closes its descriptors while the server starts. Until then root finds one there, which
	// it may not open. An ordinary user does not see what the init has.
	testkit.Eventually(t, "an init without descriptors", func() bool {
		got := attempt("open /proc/1/fd/3")
		refused := strings.Contains(got, "EACCES")
		if !refused && !strings.Contains(got, "ENOENT") {
			t.Fatalf("open /proc/1/fd/3: %s", got)
		}
		return !refused || jailtest.HostNS || os.Getuid() != 0
	})
}

// keptDescriptors is what a program is told where no descriptor gets to the launcher by
// what it takes for a UDP socket.
func keptDescriptors() string {
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err == nil {
		defer unix.Close(fd)
		const soPassRights = 83
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, soPassRights, 0) == nil {
			return "EPERM"
		}
	}
	return "ok" // before Linux 6.16
}

// TestNetworkGrantedEtc: if the host's /etc is granted, granted names resolve as in any other
// jail, and the host's files stay as they are.
func TestNetworkGrantedEtc(t *testing.T) {
	needsTestNetwork(t)
	if jailtest.HostNS {
		t.Skip("without mounts the host's files are the jail's")
	}
	for _, c := range clients(t) {
		if c.name != "glibc" || c.missing != nil {
			continue
		}
		p := c.jail(t, "good.test", host("good.test"))
		p.Entries = slices.DeleteFunc(p.Entries, func(e policy.Entry) bool { return policy.Within(e.Path, "/etc") })
		p.Entries = append(p.Entries, jailtest.Entry(t, jailtest.Grant{Path: "/etc", Rights: policy.Read}))
		jailtest.SortEntries(p)
		out, ok, denials := runClient(t, p)
		if !ok || !c.said(out, "good.test") || len(denials) != 0 {
			t.Errorf("%q, success %t, refused %+v", out, ok, denials)
		}
		p.Program, p.Argv = "/usr/bin/cat", []string{"cat", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/hosts", "/etc/passwd"}
		out, ok, _ = runClient(t, p)
		for _, want := range []string{"nameserver 192.0.0.2", "hosts: files dns\n", "127.0.1.1 mcp-jail", "root:"} {
			if !ok || !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
	}
	testkit.Contains(t, "the host's own", string(testkit.Get(os.ReadFile("/etc/resolv.conf"))(t)), "198.51.100.53")
}
