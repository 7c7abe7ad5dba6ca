package integration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// net returns what was observed of the network, each once, sorted.
func (o *observations) net() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	for _, one := range o.all {
		if one.Axis == policy.AxisNet {
			line := strings.Join(strings.Fields(fmt.Sprint(one.Operation, " ", one.Scheme, " ", one.Target, " ", one.Request)), " ")
			if one.Refused {
				line += " refused"
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// askNetwork is what a program in a closed network tries. The host has a listener, which it must not reach.
func askNetwork(listener string) []attacker.Attempt {
	return []attacker.Attempt{
		attacker.Try("looked-up", "db.learn.invalid"), attacker.Try("get", "http://api.learn.invalid/v1/x?key=SECRET"), attacker.Try("get", "https://api.learn.invalid/v1/x"),
		attacker.Try("dial", "tcp", "db.learn.invalid:5432"), attacker.Try("dial", "tcp", "198.51.100.7:22"), attacker.Try("dial", "tcp", listener),
	}
}

// TestClosedNetwork: a jail with a closed network reaches no host, also one that its rules grant. What it asks for is
// observed: a name that does not exist has an address, so no lookup decides that.
func TestClosedNetwork(t *testing.T) {
	jailtest.Needs(t)
	listener := testkit.Accept(t, "tcp", "127.0.0.1:0")
	_, portText, _ := strings.Cut(listener, ":")
	port, _ := strconv.Atoi(portText)
	for _, rules := range [][]policy.NetRule{nil, {{Host: "*", Allow: true}, {Host: "localhost", Port: port, Allow: true}}} {
		var seen observations
		p := jailtest.Profile(t)
		p.Net = rules
		l := confine.Launcher{ClosedNetwork: true, Observe: seen.add}
		got, err := jailtest.Run(t, l, p, askNetwork(listener))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got[0], "ok 127.") || slices.ContainsFunc(got[1:], func(o attacker.Outcome) bool { return strings.HasPrefix(o, "ok") }) {
			t.Errorf("%q", got)
		}
		want := strings.Join([]string{
			"connect 198.51.100.7:22 refused", "connect db.learn.invalid:5432 refused", "connect http api.learn.invalid:80 refused", "connect https api.learn.invalid:443 refused",
			"connect localhost:" + fmt.Sprint(port) + " refused", "request http api.learn.invalid:80 GET /v1/x refused", "resolve api.learn.invalid", "resolve db.learn.invalid",
		}, "\n")
		if told := seen.net(); told != want {
			t.Errorf("observed\n%s\nwant\n%s", told, want)
		}
		plan, err := l.Compile(p)
		if err != nil || plan.Profile.Net != nil || !strings.Contains(fmt.Sprint(plan.Enforced), "no host is reached") {
			t.Errorf("%v, %+v", err, plan.Enforced)
		}
		if _, err := (confine.Launcher{}).StartPlan(t.Context(), plan, confine.Stdio{}); err == nil {
			t.Error("a launcher with an open network carried out the plan")
		}
	}
	// The control: without a gateway no name has an address.
	if got := jailtest.Attempts(t, jailtest.Profile(t), askNetwork(listener)...); strings.HasPrefix(got[0], "ok") {
		t.Errorf("%q", got)
	}
}

// TestAskHost: a launcher is asked about a host that no rule is about, and its answer holds.
func TestAskHost(t *testing.T) {
	jailtest.Needs(t)
	var seen observations
	asked := make(chan string, 16)
	l := confine.Launcher{Observe: seen.add, AskHost: func(_ context.Context, host string, port int) bool {
		asked <- fmt.Sprint(host, ":", port)
		return false // what is consented to is looked up on the host, which package egress tests
	}}
	got, err := jailtest.Run(t, l, jailtest.Profile(t), []attacker.Attempt{
		attacker.Try("get", "http://no.learn.invalid/"), attacker.Try("get", "http://no.learn.invalid/again"), attacker.Try("get", "http://other.learn.invalid/"), attacker.Try("dial", "tcp", "198.51.100.7:80"),
	})
	if err != nil || slices.ContainsFunc(got, func(o attacker.Outcome) bool { return strings.HasPrefix(o, "ok ") }) {
		t.Errorf("%v, %q", err, got)
	}
	close(asked)
	var all []string
	for a := range asked {
		all = append(all, a)
	}
	if fmt.Sprint(all) != "[no.learn.invalid:80 other.learn.invalid:80]" {
		t.Errorf("asked about %q", all)
	}
	if told := seen.net(); !strings.Contains(told, "connect no.learn.invalid:80 refused") || !strings.Contains(told, "connect other.learn.invalid:80 refused") {
		t.Errorf("%s", told)
	}
}

// TestHostNSClosedNetwork: without namespaces the supervisor passes on the connections to all ports.
func TestHostNSClosedNetwork(t *testing.T) {
	jailtest.NeedsHostNS(t)
	listener := testkit.Accept(t, "tcp", "127.0.0.1:0")
	var seen observations
	l := jailtest.WaivesGaps
	l.ClosedNetwork, l.Observe = true, seen.add
	got, err := jailtest.Run(t, l, jailtest.Profile(t), askNetwork(listener)[:5])
	if err != nil || !strings.HasPrefix(got[0], "ok 127.") {
		t.Fatalf("%v, %q", err, got)
	}
	told := seen.net()
	for _, want := range []string{"connect http api.learn.invalid:80 refused", "connect https api.learn.invalid:443 refused", "connect db.learn.invalid:5432 refused", "request http api.learn.invalid:80 GET /v1/x refused", "198.51.100.7:22 refused"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in\n%s", want, told)
		}
	}
}
