package integration

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// withoutAuthority returns the client with the certificates of its system only.
func (c client) withoutAuthority() client {
	c.argv = slices.Clone(c.argv)
	for _, flag := range []string{"--cacert", "--ca-certificate"} {
		if i := slices.Index(c.argv, flag); i >= 0 {
			c.argv = slices.Delete(c.argv, i, i+2)
		}
	}
	return c
}

// requestProfile is that of a client of which requests are looked at. The variables
// that name authorities are mcp-jail's.
func (c client) requestProfile(t testing.TB, name string, rules ...policy.NetRule) *policy.Profile {
	p := c.jail(t, name, rules...)
	p.Env = slices.DeleteFunc(p.Env, func(v policy.Variable) bool {
		return v.Name == plan.NodeAuthorities || slices.Contains(plan.AuthorityVariables, v.Name)
	})
	return p
}

// trustTestAuthority has the process that ends TLS trust the test's hosts.
func trustTestAuthority(t testing.TB) {
	t.Setenv("SSL_CERT_FILE", networkFile("ca.pem"))
	testkit.Must(t, testkit.ErrorOf(os.Stat(networkFile("mcp-jail-tls"))))
	t.Setenv("PATH", os.Getenv(networkEnv)+":"+os.Getenv("PATH"))
}

// TestNetworkRequests: each program trusts the authority of its jail, and gets what a rule
// grants of a host and nothing else.
func TestNetworkRequests(t *testing.T) {
	needsTestNetwork(t)
	trustTestAuthority(t)
	part := policy.NetRule{Host: "good.test", Scheme: "https", PathPrefix: "/granted", Allow: true}
	git := policy.NetRule{Host: "good.test", Scheme: "https", PathPrefix: "/repo.git", Allow: true}
	for _, c := range clients(t) {
		if c.scheme != "https" || c.missing != nil || !slices.Contains(c.argv, "URL") {
			continue
		}
		if jailtest.HostNS && c.name == "wget" {
			continue // asks no variable, and the plan says so
		}
		t.Run(c.name, func(t *testing.T) {
			c := c.withoutAuthority()
			if c.path == "/" {
				c.path = "/granted/x"
			}
			out, ok, denials := runClient(t, c.requestProfile(t, "good.test", part, git))
			if !ok || !c.said(out, "good.test") || len(denials) != 0 {
				t.Errorf("granted: %q, success %t, refused %+v", out, ok, denials)
			}
			c.path = "/other" + c.path
			out, _, denials = runClient(t, c.requestProfile(t, "good.test", part, git))
			if c.said(out, "good.test") || !refusedTarget(denials, "connect", "good.test:443") {
				t.Errorf("not granted: %q, refused %+v", out, denials)
			}
		})
	}
}

// TestNetworkJailBuiltTwice: if a jail cannot be built in batches, the launcher builds it call
// by call. The process that ends TLS serves the second build too.
func TestNetworkJailBuiltTwice(t *testing.T) {
	needsTestNetwork(t)
	if jailtest.HostNS {
		return // nothing is built in batches there
	}
	trustTestAuthority(t)
	part := policy.NetRule{Host: "good.test", Scheme: "https", PathPrefix: "/granted", Allow: true}
	all := clients(t)
	c := all[slices.IndexFunc(all, func(c client) bool { return c.name == "curl" && c.scheme == "https" })].withoutAuthority()
	c.path = "/granted/x"
	failed, stepwise := 0, 0
	l := confine.Launcher{TestHooks: jail.TestHooks{Batched: true, Steps: func(b *jail.Builder, steps []jail.Step) []jail.Step {
		last := steps[len(steps)-1]
		if last.Name != sys.Supervision { // of the last batches, when all that the jail has outside it exists
			return steps
		}
		if b.Stub.IsStepwise() {
			stepwise++
			return steps
		}
		failed++
		return append(slices.Clone(steps), jail.Step{Name: "not in a batch", Task: b.Outer, Run: func() error { return stub.Fchdir(b.Outer, -1) }})
	}}}
	out, ok, denials := runClientBy(t, l, c.requestProfile(t, "good.test", part))
	if !ok || !c.said(out, "good.test") || len(denials) != 0 || failed != 1 || stepwise != 1 {
		t.Errorf("granted: %q, success %t, refused %+v; %d times in batches, %d stepwise", out, ok, denials, failed, stepwise)
	}
	c.path = "/other/x"
	out, _, denials = runClientBy(t, l, c.requestProfile(t, "good.test", part))
	if c.said(out, "good.test") || !refusedTarget(denials, "connect", "good.test:443") {
		t.Errorf("not granted: %q, refused %+v", out, denials)
	}
}

// TestNetworkSecret: the host gets the value of a secret. The jail never has it.
func TestNetworkSecret(t *testing.T) {
	needsTestNetwork(t)
	trustTestAuthority(t)
	const value = "the-true-value-of-it"
	file := filepath.Join(t.TempDir(), "token")
	testkit.Must(t, os.WriteFile(file, []byte(value+"\n"), 0o600))
	t.Setenv("TOKEN", value)
	shell, err := filepath.EvalSymlinks("/bin/sh")
	testkit.Must(t, err)
	cat, err := exec.LookPath("cat")
	testkit.Must(t, err)
	// As Resolve finds them: a path without links.
	if file, err = filepath.EvalSymlinks(file); err != nil {
		t.Fatal(err)
	}
	for _, s := range []policy.Secret{{Env: "TOKEN"}, {Env: "TOKEN", File: file}, {Env: "TOKEN", Command: []string{"cat", file}, Program: cat}} {
		t.Run(s.Source(), func(t *testing.T) {
			c := client{name: "sh", program: shell, scheme: "https", argv: []string{"sh", "-c",
				`echo "$TOKEN"; cat /proc/self/environ | tr "\0" "\n"; curl -sS -H "Authorization: Bearer $TOKEN" https://good.test/told?; curl -sS -H "Authorization: Bearer $TOKEN" http://twin.test/told`}}
			rules := []policy.NetRule{{Host: "good.test", Scheme: "https", Secrets: []policy.Secret{s}, Allow: true}, host("twin.test")}
			p := c.requestProfile(t, "good.test", rules...)
			p.Entries = append(p.Entries, jailtest.Entry(t, jailtest.Grant{Path: "/etc/alternatives", Rights: policy.Read}))
			jailtest.SortEntries(p)
			p.Env = append(p.Env, policy.Variable{Name: "TOKEN", Value: policy.Placeholder("TOKEN")})
			p.Secrets = []policy.Secret{s}
			out, ok, denials := runClient(t, p)
			before, told, found := strings.Cut(out, "good.test was told ")
			_, twin, foundTwin := strings.Cut(told, "twin.test was told ")
			if !ok || !found || !foundTwin || len(denials) != 0 {
				t.Fatalf("%q, success %t, refused %+v", out, ok, denials)
			}
			if strings.Contains(out, value) || !strings.Contains(before, policy.Placeholder("TOKEN")) {
				t.Errorf("the jail has the value: %q", before)
			}
			if !strings.Contains(told, "Bearer "+strings.Repeat("*", len(value))) { // of what the host sends back
				t.Errorf("the host was told %q", told)
			}
			testkit.Contains(t, "another host was told", twin, policy.Placeholder("TOKEN"))
		})
	}
}

// TestNetworkSecretMissing: a secret that cannot be read fails the start. A symlink that
// replaced its file since is not followed.
func TestNetworkSecretMissing(t *testing.T) {
	needsTestNetwork(t)
	trustTestAuthority(t)
	dir := testkit.Plant(t, "conf/", "elsewhere/token", "real/token")
	testkit.Must(t, os.Symlink(dir+"/elsewhere", dir+"/linked"))
	for _, c := range []struct {
		secret policy.Secret
		want   string
	}{
		{policy.Secret{Command: []string{"false"}, Program: "/bin/false"}, "exit status 1"},
		{policy.Secret{Command: []string{"true"}, Program: "/bin/true"}, "is empty"},
		{policy.Secret{Command: []string{"nothing"}}, "nothing was not found"},
		{policy.Secret{File: dir + "/linked/token"}, "not a directory"},
		{policy.Secret{File: dir + "/real/none"}, "no such file"},
	} {
		s := c.secret
		s.Env = "TOKEN"
		p := jailtest.Profile(t)
		p.Net = []policy.NetRule{{Host: "good.test", Scheme: "https", Secrets: []policy.Secret{s}, Allow: true}}
		p.Secrets = []policy.Secret{s}
		_, _, err := jailtest.Start(t, confine.Launcher{}, p, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(fmt.Sprint(err), "requests") {
			t.Errorf("%+v: %v, want %q", s, err, c.want)
		}
	}
}

// interceptor returns the process ID of the one mcp-jail-tls that this process has started.
func interceptor(t *testing.T) int {
	t.Helper()
	found := tlsProcesses()
	testkit.MustEqual(t, fmt.Sprintf("mcp-jail-tls runs as %v", found), len(found), 1)
	return found[0]
}

// tlsProcesses returns the process IDs of each mcp-jail-tls that this process has started.
func tlsProcesses() (found []int) {
	pids, _ := sys.Descendants()
	for _, text := range pids {
		if sys.ReadLine("/proc/"+text+"/comm") == tlsworker.Name {
			pid, _ := strconv.Atoi(text)
			found = append(found, pid)
		}
	}
	return found
}

// TestNetworkProcessKilled: if mcp-jail-tls is killed in the middle of a request, the session says so and goes on.
// That request fails, and so does each later one, with the reason on record.
func TestNetworkProcessKilled(t *testing.T) {
	needsTestNetwork(t)
	trustTestAuthority(t)
	shell := testkit.Get(filepath.EvalSymlinks("/bin/sh"))(t)
	c := client{name: "sh", program: shell, scheme: "http", argv: []string{"sh", "-c",
		`curl -sS http://good.test/echo >&2 || exit 1; echo served
		curl -sSN http://good.test/echo/endless && echo first; curl -sS http://good.test/echo && echo second
		curl -sS http://other.test/ && echo goes on`}}
	p := c.requestProfile(t, "good.test", policy.NetRule{Host: "good.test", Scheme: "http", PathPrefix: "/echo", Allow: true}, host("other.test"))
	out, in, err := os.Pipe()
	testkit.Must(t, err)
	defer out.Close()
	jailed, err := networkLauncher().Start(t.Context(), p, jail.Stdio{Out: in})
	in.Close()
	testkit.Must(t, err)
	var notices []confine.Notice
	var mu sync.Mutex
	jailed.OnNotice(func(n confine.Notice) {
		mu.Lock()
		defer mu.Unlock()
		notices = append(notices, n)
	})
	lines := bufio.NewScanner(out)
	for _, want := range []string{"served", "begun"} {
		if lines.Scan(); lines.Text() != want {
			t.Fatalf("%q, want %q", lines.Text(), want)
		}
	}
	testkit.Must(t, unix.Kill(interceptor(t), unix.SIGKILL))
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
	}
	if text := strings.Join(rest, " "); !strings.HasPrefix(text, "this is other.test") || !strings.HasSuffix(text, "goes on") {
		t.Errorf("afterwards: %q", text)
	}
	jailed.Wait()
	if !slices.ContainsFunc(jailed.Denials(), func(d policy.Denial) bool {
		return d.Target == "good.test:80" && d.Reason == policy.DeniedUnsupported && d.Count == 2 && strings.Contains(d.Detail, "mcp-jail-tls has ended")
	}) {
		t.Errorf("on record: %+v", jailed.Denials())
	}
	mu.Lock()
	defer mu.Unlock()
	if len(notices) != 1 || !notices[0].Warning || !strings.Contains(notices[0].Text, "mcp-jail-tls has ended (signal: killed)") {
		t.Errorf("said: %+v", notices)
	}
}

// TestNetworkServerDoesNotRead: a session ends even if the process that ends TLS has stopped
// reading.
func TestNetworkServerDoesNotRead(t *testing.T) {
	needsTestNetwork(t)
	trustTestAuthority(t)
	shell := testkit.Get(filepath.EvalSymlinks("/bin/sh"))(t)
	// More than its socket has room for: the first bytes of each connection go there.
	c := client{name: "sh", program: shell, scheme: "http", argv: []string{"sh", "-c",
		`read go; x=$(head -c 8000 /dev/zero | tr "\0" x); for i in $(seq 100); do curl -sS -m 2 -H "X: $x" http://good.test/granted & done; wait`}}
	p := c.requestProfile(t, "good.test", policy.NetRule{Host: "good.test", Scheme: "http", PathPrefix: "/granted", Allow: true})
	in, begin, err := os.Pipe()
	testkit.Must(t, err)
	defer begin.Close()
	var l confine.Launcher
	if jailtest.HostNS {
		l.Waive = jailtest.WaivesGaps.Waive
	}
	proc, err := l.Start(t.Context(), p, jail.Stdio{In: in})
	in.Close()
	testkit.Must(t, err)
	pid := interceptor(t)
	testkit.Must(t, unix.Kill(pid, unix.SIGSTOP))
	io.WriteString(begin, "go\n")
	select {
	case <-proc.Done():
	case <-time.After(testkit.Patience):
		t.Error("the session does not end")
		unix.Kill(pid, unix.SIGKILL)
		<-proc.Done()
	}
}
