package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestNetDenials lists denials of a jail's network with the lines that grant them.
func TestNetDenials(t *testing.T) {
	rule := func(r policy.NetRule) func(*Evidence) {
		return func(ev *Evidence) {
			if r.Where == "" {
				r.Where = "mcp-jail.toml:9"
			}
			ev.Profile.Net = append(ev.Profile.Net, r)
		}
	}
	for _, tt := range []struct {
		name   string
		denial policy.Denial
		change func(*Evidence)
		text   string
		target string
		grant  string // "": none
		fix    string // a part of it
		cause  string // a part of it
	}{
		{name: "a name", denial: policy.Denial{Operation: "resolve", Target: "api.x.com", Reason: policy.DeniedNotGranted, Count: 2},
			target: "api.x.com", grant: "--net api.x.com", cause: `from looking up api.x.com`},
		{name: "the port of another scheme", denial: policy.Denial{Operation: "connect", Target: "api.github.com:80", Reason: policy.DeniedNotGranted},
			target: "api.github.com:80", grant: "--net api.github.com"},
		{name: "a port of no scheme", denial: policy.Denial{Operation: "connect", Target: "api.github.com:8443", Reason: policy.DeniedNotGranted},
			target: "api.github.com:8443", grant: "--net api.github.com:8443"},
		{name: "a name, and its port in the text", denial: policy.Denial{Operation: "resolve", Target: "api.x.com", Reason: policy.DeniedNotGranted},
			text:   "FetchError: request to https://api.x.com:8443/v1 failed, reason: getaddrinfo ENOTFOUND api.x.com",
			target: "api.x.com", grant: "--net api.x.com:8443"},
		{name: "an address", denial: policy.Denial{Operation: "connect", Target: "198.51.100.7:443", Reason: policy.DeniedNotGranted},
			target: "198.51.100.7:443", grant: "--net 198.51.100.7", fix: "prefer the host's name"},
		{name: "an IPv6 address", denial: policy.Denial{Operation: "connect", Target: "[2001:db8::7]:5432", Reason: policy.DeniedNotGranted},
			target: "[2001:db8::7]:5432", grant: "--net [2001:db8::7]:5432"},
		{name: "the host itself", denial: policy.Denial{Operation: "connect", Target: "localhost:5432", Reason: policy.DeniedNotGranted},
			target: "localhost:5432", grant: "--net localhost:5432"},
		{name: "UDP", denial: policy.Denial{Operation: "send", Target: "api.github.com:443", Reason: policy.DeniedNotGranted},
			target: "api.github.com:443", fix: "no rule grants UDP"},
		{name: "what is no name", denial: policy.Denial{Operation: "resolve", Target: `"a chatty\x00host"`, Reason: policy.DeniedNotGranted},
			target: `"a chatty\x00host"`, fix: "no rule"},
		{name: "a rule that refuses", denial: policy.Denial{Operation: "connect", Target: "db.x.com:5432", Reason: policy.DeniedNotGranted},
			change: rule(policy.NetRule{Host: "db.x.com", Scheme: "tcp", Port: 5432, PathPrefix: "/", Methods: []string{"GET"}}),
			target: "db.x.com:5432", fix: "mcp-jail.toml:9 refuses it, whatever other rules say"},
		{name: "a private address", denial: policy.Denial{Operation: "resolve", Target: "api.github.com", Reason: policy.DeniedAddress, Detail: "10.0.0.5 is a private address, fd00::5 is a private address"},
			target: "api.github.com", grant: "--net 10.0.0.5",
			fix: `careful: 10.0.0.5 is a private address, and the owner of the name api.github.com`, cause: ": 10.0.0.5 is a private address"},
		{name: "the metadata of a cloud, by a port", denial: policy.Denial{Operation: "connect", Target: "x.githubusercontent.com:80", Reason: policy.DeniedAddress, Detail: "169.254.169.254 is where a cloud serves credentials to its machines"},
			target: "x.githubusercontent.com:80", grant: "--net 169.254.169.254", fix: "careful: 169.254.169.254 is where a cloud serves credentials"},
		{name: "the host's loopback by a name", denial: policy.Denial{Operation: "resolve", Target: "db.x.com", Reason: policy.DeniedAddress, Detail: "127.0.0.1 is the host's loopback"},
			change: rule(policy.NetRule{Host: "db.x.com", Scheme: "tcp", Port: 5432, Allow: true}),
			target: "db.x.com", grant: "--net localhost:5432", fix: "careful:"},
		{name: "an address that a rule refuses", denial: policy.Denial{Operation: "resolve", Target: "api.github.com", Reason: policy.DeniedAddress, Detail: "198.51.100.7 is refused by a rule"},
			target: "api.github.com", fix: "a rule of the policy refuses the address"},
		{name: "another host in the handshake", denial: policy.Denial{Operation: "connect", Target: "api.github.com:443", Reason: policy.DeniedWrongName, Detail: "it names evil.example"},
			target: "api.github.com:443", fix: "needs its own rule", cause: ": it names evil.example"},
		{name: "another protocol", denial: policy.Denial{Operation: "connect", Target: "api.github.com:443", Reason: policy.DeniedWrongScheme, Detail: "it speaks neither TLS nor HTTP"},
			target: "api.github.com:443", grant: "--net api.github.com", fix: "does not inspect"},
		{name: "HTTP where TLS is granted", denial: policy.Denial{Operation: "connect", Target: "db.x.com:8080", Reason: policy.DeniedWrongScheme, Detail: "it speaks HTTP"},
			change: rule(policy.NetRule{Host: "db.x.com", Scheme: "https", Port: 8080, Allow: true}),
			target: "db.x.com:8080", grant: "--net db.x.com:8080"},
		{name: "a method", denial: policy.Denial{Operation: "connect", Target: "api.x.com:443", Reason: policy.DeniedRequest, Detail: "POST /repos/a/b: no rule allows it; this host has …"},
			change: rule(policy.NetRule{Host: "api.x.com", Scheme: "https", PathPrefix: "/repos", Methods: []string{"GET"}, Allow: true, Secrets: []policy.Secret{{Env: "TOKEN", File: "/home/u/.token"}}}),
			target: "api.x.com:443",
			fix:    `mcp-jail.toml:9, path_prefix = "/repos", methods = ["GET"]: widen one`, cause: ": POST /repos/a/b"},
		{name: "a method that a rule refuses", denial: policy.Denial{Operation: "connect", Target: "api.x.com:443", Reason: policy.DeniedRequest, Detail: "DELETE /v1: the rule at mcp-jail.toml:9 denies it (…)"},
			change: func(ev *Evidence) {
				rule(policy.NetRule{Host: "api.x.com", Allow: true, Where: "mcp-jail.toml:5"})(ev)
				rule(policy.NetRule{Host: "api.x.com", Scheme: "https", PathPrefix: "/v1/", Port: 443, Methods: []string{"DELETE"}})(ev)
			},
			target: "api.x.com:443", fix: "mcp-jail.toml:9, path_prefix"},
		{name: "a path in disguise", denial: policy.Denial{Operation: "connect", Target: "api.x.com:443", Reason: policy.DeniedAmbiguous, Detail: "GET /repos/../x: servers read its path in different ways"},
			target: "api.x.com:443", fix: "no rule grants this"},
		{name: "connections", denial: policy.Denial{Operation: "connect", Target: "api.github.com:443", Reason: policy.DeniedLimit, Detail: "it had to wait: 256 connections are open"},
			target: "api.github.com:443", fix: "must close connections"},
		{name: "names below a wildcard", denial: policy.Denial{Operation: "resolve", Target: "a.githubusercontent.com", Reason: policy.DeniedLimit, Detail: "more than 4 new names a second below wildcards"},
			target: "a.githubusercontent.com", fix: "name the hosts one by one"},
		{name: "a secret in another field", denial: policy.Denial{Operation: "connect", Target: "api.github.com:443", Reason: policy.DeniedSecret, Detail: `GET /x: its header field X-Foo has the placeholder of the secret T, which is put in Authorization only: if the value belongs there, write header = "X-Foo" beside env (c.toml:3)`},
			target: "api.github.com:443", fix: "write its name beside env"},
		{name: "nothing to do it with", denial: policy.Denial{Operation: "connect", Target: "api.github.com:443", Reason: policy.DeniedUnsupported, Detail: "nothing here sees its requests"},
			target: "api.github.com:443", fix: "mcp-jail plan"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			if tt.change != nil {
				tt.change(&ev)
			}
			tt.denial.Axis = policy.AxisNet
			ev.Denials = []policy.Denial{tt.denial}
			d := Diagnose(ev)
			if len(d.Hints) != 1 || d.Attribution != Certain || d.Hints[0].Target != tt.target {
				t.Fatalf("want one fact about %s:\n%s", tt.target, d.Text())
			}
			if got := strings.Join(d.Words, " "); got != tt.grant {
				t.Errorf("grant\n got %s\nwant %s", got, tt.grant)
			}
			if !strings.Contains(advised(d), tt.fix) || !strings.Contains(d.Cause, tt.cause) {
				t.Errorf("want %q and %q in\n%s", tt.cause, tt.fix, d.Text())
			}
			if tt.grant != "" {
				pasted(t, "[servers.github]\ncommand = \"node\"\n", d.Words, ev.Profile)
			}
		})
	}
}
