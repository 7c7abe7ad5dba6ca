package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAskHost: a launcher is asked about a host that no rule is about, each time.
func TestAskHost(t *testing.T) {
	jailtest.Needs(t)
	asked := make(chan string, 16)
	l := confine.Launcher{AskHost: func(host string, port int) bool {
		asked <- fmt.Sprint(host, ":", port)
		return false // what is consented to is looked up on the host, which package egress tests
	}}
	got, err := jailtest.Run(t, l, jailtest.Profile(t), []attacker.Attempt{
		attacker.Try("get", "http://no.ask.invalid/"), attacker.Try("get", "http://no.ask.invalid/again"), attacker.Try("get", "http://other.ask.invalid/"), attacker.Try("dial", "tcp", "198.51.100.7:80"),
	})
	if err != nil || slices.ContainsFunc(got, func(o attacker.Outcome) bool { return strings.HasPrefix(o, "ok ") }) {
		t.Errorf("%v, %q", err, got)
	}
	close(asked)
	var all []string
	for a := range asked {
		all = append(all, a)
	}
	testkit.Equal(t, "asked about", fmt.Sprint(all), "[no.ask.invalid:80 no.ask.invalid:80 other.ask.invalid:80]")
}
