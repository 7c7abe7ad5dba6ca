package integration

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// a client is a program that gets "SCHEME://NAME/PATH". What it prints holds want.
type client struct {
	name    string
	program string
	argv    []string // with URL and NAME in the place of both
	scheme  string
	path    string
	want    string // with NAME in the place of the host
	missing error
}

const nodeFetch = `fetch(process.argv[1]).then(r => r.text()).then(t => console.log(t)).catch(e => { console.error(e.cause || e); process.exit(1) })`

const nodeCares = `require("dns").resolve4(process.argv[1], (e, a) => {
	if (e) { console.error(e); process.exit(1) }
	require("http").get({host: a[0], headers: {Host: process.argv[1]}}, r => r.pipe(process.stdout)).on("error", e => { console.error(e); process.exit(1) })
})`

const pythonGet = `import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())`

// clientSource is a program that looks a name up and asks for "/" over plain HTTP.
const clientSource = `
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv) {
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *list;
	int e = getaddrinfo(argv[1], "80", &hints, &list);
	if (e) { fprintf(stderr, "%s\n", gai_strerror(e)); return 1; }
	for (struct addrinfo *a = list; a; a = a->ai_next) {
		int fd = socket(a->ai_family, a->ai_socktype, 0);
		if (connect(fd, a->ai_addr, a->ai_addrlen)) { close(fd); continue; }
		dprintf(fd, "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", argv[1]);
		char b[4096]; ssize_t n;
		while ((n = read(fd, b, sizeof b)) > 0) write(1, b, n);
		return 0;
	}
	perror("connect");
	return 1;
}
`

// cBuilds are the builds of clientSource. networkPrograms makes them.
var cBuilds = []struct{ name, file, compiler, flag string }{
	{"glibc", "client-glibc", "gcc", "-O"}, {"glibc, static", "client-static", "gcc", "-static"}, {"musl, static", "client-musl", "musl-gcc", "-static"},
}

// clients are those of this machine. In CI none may be missing.
func clients(t testing.TB) []client {
	t.Helper()
	ca := networkFile("ca.pem")
	web := func(name string, argv ...string) client {
		return client{name: name, program: argv[0], argv: argv, scheme: "https", path: "/", want: "this is NAME"}
	}
	list := []client{
		web("node, fetch", "node", "-e", nodeFetch, "URL"),
		web("curl", "curl", "-sS", "--fail", "--cacert", ca, "URL"),
		web("wget", "wget", "-q", "-O-", "--tries=1", "--timeout=10", "--ca-certificate", ca, "URL"),
		web("Python", "/usr/bin/python3", "-c", pythonGet, "URL"),
		{name: "git", program: "git", argv: []string{"git", "ls-remote", "URL"}, scheme: "https", path: "/repo.git", want: "refs/heads/main"},
		web("node, c-ares", "node", "-e", nodeCares, "NAME"),
		web("Go, cgo", networkFile("go-cgo"), "URL"),
	}
	for _, b := range cBuilds {
		list = append(list, web(b.name, networkFile(b.file), "NAME"))
	}
	if jailtest.HostNS && !testkit.Long() { // without namespaces, they look names up and connect as curl does
		list = slices.DeleteFunc(list, func(c client) bool {
			return slices.Contains([]string{"node, fetch", "wget", "Python", "glibc", "glibc, static"}, c.name)
		})
	}
	for i := range list {
		c := &list[i]
		path, err := exec.LookPath(c.program)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		c.program, c.missing = path, cmp.Or(c.missing, err)
	}
	return list
}

func (c *client) args(name string) []string {
	replace := strings.NewReplacer("URL", c.scheme+"://"+name+c.path, "NAME", name)
	args := slices.Clone(c.argv)
	for i := range args {
		args[i] = replace.Replace(args[i])
	}
	return args
}

func clientEnv() []policy.Variable {
	ca := networkFile("ca.pem")
	env := []policy.Variable{{Name: "PATH", Value: "/usr/bin:/bin"}, {Name: "HOME", Value: "/tmp"}, {Name: "GIT_TERMINAL_PROMPT", Value: "0"}}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "GIT_SSL_CAINFO"} {
		env = append(env, policy.Variable{Name: name, Value: ca})
	}
	return env
}

// jail is a profile of the client, asking for a name.
func (c *client) jail(t testing.TB, name string, rules ...policy.NetRule) *policy.Profile {
	grants := []jailtest.Grant{{Path: c.program, Rights: policy.Read | policy.Execute}, {Path: networkFile("ca.pem"), Rights: policy.Read}, {Path: "/etc/ssl", Rights: policy.Read}}
	p := jailtest.Profile(t, grants...)
	p.Program, p.Argv, p.Env, p.Net = c.program, c.args(name), clientEnv(), rules
	return p
}

// runUnconfined is the control.
func (c *client) runUnconfined(name string) (string, error) {
	cmd := exec.Command(c.program, c.args(name)[1:]...)
	for _, v := range clientEnv() {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *client) said(out, name string) bool {
	return strings.Contains(out, strings.ReplaceAll(c.want, "NAME", name))
}

// runClient runs a jail to its end.
func runClient(t testing.TB, p *policy.Profile) (out string, ok bool, denials []policy.Denial) {
	t.Helper()
	return runClientBy(t, confine.Launcher{}, p)
}

func runClientBy(t testing.TB, l confine.Launcher, p *policy.Profile) (out string, ok bool, denials []policy.Denial) {
	t.Helper()
	var b bytes.Buffer
	proc, wait, err := jailtest.Start(t, l, p, &b, io.Discard)
	testkit.Must(t, err)
	exit, _ := proc.Wait()
	wait()
	return b.String(), exit.Code == 0, proc.Denials()
}

// refusedTarget reports whether a refusal is on record.
func refusedTarget(denials []policy.Denial, operation, target string) bool {
	return slices.ContainsFunc(denials, func(d policy.Denial) bool {
		return d.Axis == policy.AxisNet && d.Operation == operation && d.Target == target && d.Count > 0
	})
}

func host(name string) policy.NetRule { return policy.NetRule{Host: name, Allow: true} }

// TestNetworkClients: each program, unmodified, reaches the granted host and no other. A refusal
// names the host and comes at once.
func TestNetworkClients(t *testing.T) {
	needsTestNetwork(t)
	for _, c := range clients(t) {
		t.Run(c.name, func(t *testing.T) {
			if c.missing != nil {
				testkit.Skip(t, "clients", "%v", c.missing)
			}
			for _, name := range []string{"good.test", "other.test"} {
				if out, err := c.runUnconfined(name); err != nil || !c.said(out, name) {
					t.Fatalf("the control of %s: %v, %q", name, err, out)
				}
			}
			out, ok, denials := runClient(t, c.jail(t, "good.test", host("good.test")))
			if !ok || !c.said(out, "good.test") || len(denials) != 0 {
				t.Errorf("granted: %q, success %t, refused %+v", out, ok, denials)
			}
			begun := time.Now()
			out, ok, denials = runClient(t, c.jail(t, "other.test", host("good.test")))
			if ok || c.said(out, "other.test") || !refusedTarget(denials, "resolve", "other.test") {
				t.Errorf("not granted: %q, success %t, refused %+v", out, ok, denials)
			}
			t.Logf("refused after %v", time.Since(begun).Round(time.Millisecond))
		})
	}
}

// TestNetworkGoClient: Go's own resolver works in a jail.
func TestNetworkGoClient(t *testing.T) {
	needsTestNetwork(t)
	p := jailtest.Profile(t, jailtest.Grant{Path: networkFile("ca.pem"), Rights: policy.Read})
	p.Env, p.Net = clientEnv(), []policy.NetRule{host("good.test")}
	os.Setenv("SSL_CERT_FILE", networkFile("ca.pem"))
	for _, name := range []string{"good.test", "other.test"} {
		if got := jailtest.Unconfined(t, "/", attacker.Try("get", "https://"+name+"/"))[0]; !strings.Contains(got, "this is "+name) {
			t.Fatalf("the control of %s: %s", name, got)
		}
	}
	got := jailtest.Attempts(t, p, attacker.Try("get", "https://good.test/"), attacker.Try("get", "http://good.test/"), attacker.Try("get", "https://other.test/"))
	for i, want := range []string{"this is good.test", "this is good.test", "no such host"} {
		testkit.Contains(t, i, got[i], want)
	}
}
