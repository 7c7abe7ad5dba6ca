package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailUnanswered: a process knows the ports of its jail's loopback to which the server connected
// and at which no program listened. It knows them with and without granted hosts. They are not among
// the denials. The gateway hears of a refusal, and not of a later listener: see TestJailAnsweredLater.
func TestJailUnanswered(t *testing.T) {
	jailtest.Needs(t)
	other := []policy.NetRule{{Host: "example.org", Allow: true}, {Host: "localhost", Scheme: "tcp", Port: 9, Allow: true}}
	for _, c := range testkit.TableIn[struct {
		attempt string // PORT is a free port
		none    bool   // every connection reached a program of the jail, or was no connection
		host    string // "": localhost
	}](t, tables, "jail-unanswered.txt") {
		for _, rules := range [][]policy.NetRule{nil, other} {
			for _, inbound := range []bool{false, true} {
				t.Run(fmt.Sprint(c.attempt, " ", len(rules), " ", inbound), func(t *testing.T) {
					t.Parallel()
					port := freePort(t)
					p := jailtest.Profile(t)
					p.Net = rules
					if inbound {
						p.Inbound = []int{freePort(t)}
					}
					jail := jailtest.Begin(t, p, attacker.Attempt(strings.Fields(strings.ReplaceAll(c.attempt, "PORT", fmt.Sprint(port)))))
					jail.Finish()
					got, denials := jail.Unanswered(time.Time{}), jail.Denials()
					testkit.Equal(t, fmt.Sprintf("refused %+v", denials), len(denials), 0)
					want := c.host
					if want == "" {
						want = "localhost"
					}
					if c.none && len(got) != 0 || !c.none && (len(got) != 1 || got[0].Host != want || got[0].Port != port) {
						t.Errorf("unanswered %+v, want none %t, %s:%d; the attempt: %s", got, c.none, want, port, jail.Out)
					}
					testkit.Empty(t, "from now on", jail.Unanswered(time.Now()))
				})
			}
		}
	}
}

// TestJailAnsweredLater: a port at which the server listens by now is not unanswered, and neither is
// one that leads into the jail.
func TestJailAnsweredLater(t *testing.T) {
	jailtest.Needs(t)
	for _, rules := range [][]policy.NetRule{nil, {{Host: "example.org", Allow: true}}} {
		port, inbound, never := freePort(t), freePort(t), freePort(t)
		p := jailtest.Profile(t)
		p.Net, p.Inbound = rules, []int{inbound}
		dial := func(port int) attacker.Attempt { return attacker.Try("dial", "tcp", fmt.Sprint("127.0.0.1:", port)) }
		s := jailtest.Begin(t, p, dial(port), dial(inbound), dial(never), attacker.Try("callback", fmt.Sprint("127.0.0.1:", port), "1"))
		s.Out.Await(t, "listening")
		var ports []int
		for _, u := range s.Unanswered(time.Time{}) {
			ports = append(ports, u.Port)
		}
		if !slices.Equal(ports, []int{never}) {
			t.Errorf("with %d rules: unanswered %v, want %d alone (later answered %d, inbound %d)", len(rules), ports, never, port, inbound)
		}
		s.Kill()
		s.Finish()
	}
}
