//go:build seatbelt

package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// script returns a profile of a shell with the variables of the clients.
func script(t testing.TB, text string, rules ...policy.NetRule) *policy.Profile {
	p := jailtest.Profile(t, jailtest.Grant{Path: networkFile("ca.pem"), Rights: policy.Read})
	p.Program, p.Argv, p.Env, p.Net = "/bin/sh", []string{"sh", "-c", text}, clientEnv(), rules
	return p
}

const (
	byHTTP  = `curl -sS --max-time 20 "$@" 2>&1`
	bySOCKS = `curl -sS --max-time 20 -x "socks5h${HTTPS_PROXY#http}" "$@" 2>&1 </dev/null`
)

// TestNetworkSeatbeltRules: there is a row for each kind of rule. A host that is not granted is on record
// as the program named it, and the program is told which option grants it.
func TestNetworkSeatbeltRules(t *testing.T) {
	needsTestNetwork(t)
	local := hostService(t, "127.0.0.1:0")
	service := fmt.Sprint("telnet://127.0.0.1:", local)
	tcp := func(host string, port int) policy.NetRule {
		return policy.NetRule{Host: host, Scheme: "tcp", Port: port, Allow: true}
	}
	good := host("good.test")
	for _, c := range []struct {
		rule   policy.NetRule
		how    string
		args   string
		want   string // is in what the program writes
		denial string // what is refused: the target of a connect; "" for nothing
	}{
		{good, byHTTP, "http://GOOD.Test/", "this is", ""},
		{good, byHTTP, "http://good.test./", "this is", ""},
		{good, byHTTP, "https://good.test/", "this is good.test", ""},
		{good, bySOCKS, "http://good.test/", "this is good.test", ""},
		{good, bySOCKS, "https://good.test/", "this is good.test", ""},
		{host("*.wild.test"), byHTTP, "http://a.wild.test/", "this is a.wild.test", ""},
		{host("six.test"), byHTTP, "http://six.test/", "at [2001:db8::12]:80", ""},
		{host("198.51.100.10"), byHTTP, "http://198.51.100.10/", "this is 198.51.100.10", ""},
		{good, byHTTP, "http://other.test/", "other.test:80 is not granted; to grant it: --net other.test", "other.test:80"},
		{good, byHTTP, "https://other.test/", "403", "other.test:443"},
		{good, bySOCKS, "http://other.test/", "curl: (97)", "other.test:80"},
		{good, byHTTP, "http://good.test.other.test/", "not granted", "good.test.other.test:80"},
		{host("*.wild.test"), byHTTP, "http://wild.test/", "not granted", "wild.test:80"},
		{good, byHTTP, "http://198.51.100.20/", "not granted", "198.51.100.20:80"},
		{good, byHTTP, "http://169.254.169.254/", "not granted", "169.254.169.254:80"},
		{host("*"), byHTTP, "http://169.254.169.254/", "not granted", "169.254.169.254:80"},
		{host("private.test"), byHTTP, "http://private.test/", "10.9.9.9", "private.test:80"},
		{host("closed.test"), byHTTP, "http://closed.test/", "is granted, but cannot be reached", ""},
		{policy.NetRule{Host: "good.test", Scheme: "https", Allow: true}, byHTTP, "http://good.test/", "not granted", "good.test:80"},
		{good, byHTTP, "-H 'Host: twin.test' http://good.test/", "names another host: it names twin.test", "good.test:80"},
		{good, byHTTP, "-p -H 'Host: twin.test' http://good.test/", "curl: (5", "good.test:80"},
		{tcp("good.test", 7000), bySOCKS, "telnet://good.test:7000", "hello from 198.51.100.10", ""},
		{good, bySOCKS, "telnet://good.test:7000", "curl: (97)", "good.test:7000"},
		{tcp("localhost", local), bySOCKS, service, "the host's own", ""},
		{good, bySOCKS, service, "curl: (97)", fmt.Sprint("localhost:", local)},
		{tcp("*", local), bySOCKS, service, "curl: (97)", fmt.Sprint("localhost:", local)},
	} {
		t.Run(c.rule.Host+" "+c.args, func(t *testing.T) {
			p := script(t, "set -- "+c.args+"\n"+c.how, c.rule)
			out, _, denials := runClient(t, p)
			if !strings.Contains(out, c.want) {
				t.Errorf("%q, want %q in it", out, c.want)
			}
			if c.denial == "" && len(denials) != 0 || c.denial != "" && (!refusedTarget(denials, "connect", c.denial) || len(denials) != 1) {
				t.Errorf("refused %+v, want %q", denials, c.denial)
			}
		})
	}
}
