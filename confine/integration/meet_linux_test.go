package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// This file tests that a project's file only takes away from a user's server, whichever of the two lists allows more.

// bothWays returns the meets of two profiles: with the first as the user's, and with the second.
func bothWays(t *testing.T, a, b *policy.Profile) map[string]*policy.Profile {
	return map[string]*policy.Profile{"the user allows more": testkit.Get(policy.Meet(a, b))(t), "the project allows more": testkit.Get(policy.Meet(b, a))(t)}
}

// TestNetworkMeet: each row has two rules, an attempt that the first allows and the second does not, and one that both
// allow.
func TestNetworkMeet(t *testing.T) {
	needsTestNetwork(t)
	trustTestAuthority(t)
	rule := func(host, scheme string, port int) policy.NetRule {
		return policy.NetRule{Host: host, Scheme: scheme, Port: port, Allow: true}
	}
	part, reads := rule("good.test", "http", 0), rule("good.test", "http", 0)
	part.PathPrefix, reads.Methods = "/told", []string{"GET"}
	for _, c := range []struct {
		name            string
		wide, narrow    policy.NetRule
		refused, passes string
		of              string // what the answers have
	}{
		{"bytes, without a scheme", rule("bytes.test", "tcp", 443), rule("bytes.test", "", 443), "answered bytes.test:443", "", "neither"},
		{"bytes, without a port", rule("bytes.test", "tcp", 443), rule("bytes.test", "", 0), "answered bytes.test:443", "", "neither"},
		{"bytes, with https", rule("bytes.test", "tcp", 443), rule("bytes.test", "https", 0), "answered bytes.test:443", "", "neither"},
		{"a name, without a scheme", rule("good.test", "tcp", 443), rule("good.test", "", 443), "handshake good.test:443 twin.test", "handshake good.test:443 good.test", "shaken"},
		{"a name, with https", rule("good.test", "tcp", 443), rule("good.test", "https", 0), "handshake good.test:443 twin.test", "handshake good.test:443 good.test", "shaken"},
		{"a name in a request", rule("good.test", "tcp", 80), rule("good.test", "", 0), "asked good.test:80 twin.test", "asked good.test:80 good.test", "this is"},
		{"a path", rule("good.test", "", 0), part, "get http://good.test/", "get http://good.test/told", "good.test"},
		{"a method", rule("good.test", "", 0), reads, "post http://good.test/echo", "get http://good.test/", "t"},
		{"a host", rule("*", "", 0), rule("good.test", "", 0), "get http://other.test/", "get http://good.test/", "this is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			profile := func(r policy.NetRule) *policy.Profile {
				p := jailtest.Profile(t, jailtest.Grant{Path: networkFile("ca.pem"), Rights: policy.Read})
				p.Env, p.Net = clientEnv(), []policy.NetRule{r}
				return p
			}
			tries := []attacker.Attempt{attacker.Attempt(strings.Fields(c.refused))}
			if c.passes != "" {
				tries = append(tries, attacker.Attempt(strings.Fields(c.passes)))
			}
			passed := func(o attacker.Outcome) bool {
				return strings.HasPrefix(string(o), attacker.Succeeded) && strings.Contains(string(o), c.of) && !strings.Contains(string(o), "mcp-jail blocked")
			}
			for i, got := range jailtest.Attempts(t, profile(c.wide), tries...) {
				if !passed(got) {
					t.Fatalf("the control: %s: %s", tries[i], got)
				}
			}
			profiles := bothWays(t, profile(c.wide), profile(c.narrow))
			profiles["the narrower alone"] = profile(c.narrow)
			for name, p := range profiles {
				for i, got := range jailtest.Attempts(t, p, tries...) {
					if passed(got) != (i > 0) {
						t.Errorf("%s: %s: %s\n%s", name, tries[i], got, fmt.Sprint(p.Net))
					}
				}
			}
		})
	}
}

// TestJailCommandsMeet: where two lists have rules for programs, a start needs one of each.
func TestJailCommandsMeet(t *testing.T) {
	jailtest.Needs(t)
	commandsMeet(t, jailtest.Attempts)
}

func TestHostNSCommandsMeet(t *testing.T) {
	jailtest.NeedsHostNS(t)
	commandsMeet(t, jailtest.AttemptsHostNS)
}

func commandsMeet(t *testing.T, run func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome) {
	t.Helper()
	c := newCommands(t)
	profile := func(change func(p *policy.Profile)) *policy.Profile {
		p := *c.profile
		change(&p)
		return &p
	}
	echo := func(p *policy.Profile, lists ...[]string) {
		p.Commands = append(p.Commands, policy.Command{Name: "echo", Args: lists, Starts: []policy.Start{{File: c.echo, Name: "echo", Paths: []string{c.echo}}}})
	}
	env := func(p *policy.Profile, names ...string) {
		p.Commands = append(p.Commands, policy.Command{Name: "env", Envs: names, Starts: []policy.Start{{File: c.env, Name: "env"}}})
	}
	// The wider list has any program, the other two programs, one of them a script.
	wide := profile(func(p *policy.Profile) {
		p.Programs, p.Loaders, p.CommandArgs, p.Commands, p.OwnPrograms = nil, nil, nil, nil, nil
	})
	plain := profile(func(p *policy.Profile) { p.CommandArgs, p.Commands, p.OwnPrograms = nil, nil, nil })
	first := profile(func(p *policy.Profile) {
		p.CommandArgs, p.Commands = []string{"echo", "env"}, nil
		echo(p, []string{"status", "**"}, []string{"good"})
		env(p, "GOOD", "EVIL")
		p.Commands = append(p.Commands, policy.Command{Name: "sh", Args: [][]string{{"-u", "**"}}, Starts: []policy.Start{{File: c.sh}}})
	})
	second := profile(func(p *policy.Profile) {
		p.CommandArgs, p.Commands = []string{"cargo", "echo", "env"}, p.Commands[:1] // cargo, a script of sh
		echo(p, []string{"*", "x"}, []string{"good"})
		env(p, "GOOD", "OTHER")
	})
	nothing := profile(func(p *policy.Profile) { p.CommandArgs, p.Commands = []string{"missing"}, nil })
	start := func(path, env string, argv ...string) attacker.Attempt {
		return attacker.Try("start-program", append([]string{path, c.dir, env}, argv...)...)
	}
	tries := []attacker.Attempt{
		start(c.echo, "", "echo", "good"), start(c.echo, "", "echo", "status", "x"), start(c.echo, "", "echo", "status", "y"), start(c.echo, "", "echo", "log", "x"),
		start(c.env, "GOOD=1 EVIL=1 OTHER=1", "env"), start(c.sh, "", "sh", "-u", c.script, "check"), start(c.sh, "", "sh", "-u", c.script, "run"), start(c.sh, "", "sh", "-u", "-c", "echo started"),
	}
	script := "ok " + c.script
	for _, row := range []struct {
		name string
		a, b *policy.Profile
		want []attacker.Outcome
	}{
		{"the control", wide, wide, []attacker.Outcome{"ok good", "ok status x", "ok status y", "ok log x", "ok GOOD=1 EVIL=1 OTHER=1", attacker.Outcome(script + ":check::"), attacker.Outcome(script + ":run::"), "ok started"}},
		{"any and a list", wide, first, []attacker.Outcome{"ok good", "ok status x", "ok status y", "killed", "ok GOOD=1 EVIL=1", attacker.Outcome(script + ":check::"), attacker.Outcome(script + ":run::"), "ok started"}},
		{"programs and a list", plain, second, []attacker.Outcome{"ok good", "ok status x", "killed", "ok log x", "ok GOOD=1 OTHER=1", attacker.Outcome(script + ":check::"), "killed", "killed"}},
		{"two lists", first, second, []attacker.Outcome{"ok good", "ok status x", "killed", "killed", "ok GOOD=1", attacker.Outcome(script + ":check::"), "killed", "killed"}},
		{"a list without rules", first, nothing, []attacker.Outcome{"killed", "killed", "killed", "killed", "killed", "killed", "killed", "killed"}},
	} {
		for name, p := range bothWays(t, row.a, row.b) {
			testkit.Equal(t, row.name+", "+name, run(t, p, tries...), row.want)
		}
	}
	// A program that one of the two does not list is not started.
	without := profile(func(p *policy.Profile) {
		p.Programs = append([]string{p.Program, c.env}, p.Loaders...)
		p.CommandArgs, p.Commands, p.OwnPrograms = nil, nil, nil
	})
	for _, other := range []*policy.Profile{wide, plain, first} {
		for name, p := range bothWays(t, without, other) {
			got := run(t, p, tries[0], start(c.env, "GOOD=1", "env"))
			testkit.Equal(t, "a program, "+name, got, []attacker.Outcome{"EACCES", "ok GOOD=1"})
		}
	}
}
