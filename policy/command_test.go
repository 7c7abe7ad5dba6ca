package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestMatchArguments(t *testing.T) {
	for _, row := range testkit.Rows(t, "arguments.txt", 3) {
		list, args, want := row[0], row[1], row[2] == "true"
		if got := MatchArguments(strings.Fields(list), strings.Fields(args)); got != want {
			t.Errorf("%q for %q: %t", list, args, got)
		}
	}
	if MatchArguments([]string{"log", "*"}, []string{"log", ""}) != true || MatchArguments([]string{"log"}, []string{"log", ""}) {
		t.Error("an empty argument is an argument")
	}
}

// TestMatchStart checks that rules for one file add up, and that a file that no rule is about may
// be started only if it belongs to the server's own program.
func TestMatchStart(t *testing.T) {
	git := []Start{{File: "/usr/bin/git", Name: "git", Paths: []string{"/usr/bin/git"}}}
	cargo := []Start{
		{File: "/usr/bin/env", Name: "env", Paths: []string{"/usr/bin/env"}, Lead: []string{"bash"}, Script: "/opt/cargo"},
		{File: "/usr/bin/bash", Name: "bash", Script: "/opt/cargo"},
	}
	p := &Profile{
		CommandArgs: []string{"git"}, OwnPrograms: []string{"/usr/bin/node", "/usr/bin/bash", "/usr/bin/make"},
		Commands: []Command{
			{Name: "/usr/bin/git", Args: [][]string{{"push", "origin"}}, Starts: git},
			{Name: "cargo", Args: [][]string{{"check"}}, Starts: cargo},
			{Name: "git", Args: [][]string{{"status", "**"}}, Envs: []string{"A"}, Starts: git},
			{Name: "make", Args: [][]string{{"all"}}, Starts: []Start{{File: "/usr/bin/make", Name: "make"}}},
			{Name: "ls", Starts: []Start{{File: "/bin/busybox"}}},
			{Name: "wc", Args: [][]string{{"-l"}}, Starts: []Start{{File: "/bin/wcbox", Name: "wc"}}},
		},
	}
	for _, row := range testkit.Rows(t, "starts.txt", 3) {
		file, argv, want := row[0], row[1], row[2]
		m := p.MatchStart(ProgramStart{
			Argv: strings.Fields(argv), IsFile: func(f string) bool { return f == file },
			IsScript: func(word, script string) bool { return word == "./cargo" && script == "/opt/cargo" },
		})
		got := "no"
		if m.Allowed {
			got = "own"
		}
		for i, r := range m.Commands {
			if got = r.Name; i > 0 {
				t.Errorf("%s: several rules", argv)
			}
		}
		if m.Allowed && m.Argument > 0 {
			got += " " + string(rune('0'+m.Argument)) + " " + m.Script
		}
		if got != want {
			t.Errorf("%s: %s, want %s", argv, got, want)
		}
	}
	// Hard links: the server's own program has the name perl5, and a rule is about perl.
	two := &Profile{CommandArgs: []string{"perl"}, OwnPrograms: []string{"/usr/bin/perl5"}, Commands: []Command{{Name: "perl", Args: [][]string{{"-v"}}, Starts: []Start{{File: "/usr/bin/perl", Name: "perl"}}}}}
	for argv, want := range map[string]bool{"perl -v": true, "perl -e x": false, "perl5 -e x": false} {
		linked := func(f string) bool { return f == "/usr/bin/perl" || f == "/usr/bin/perl5" }
		if m := two.MatchStart(ProgramStart{Argv: strings.Fields(argv), IsFile: linked}); m.Allowed != want {
			t.Errorf("%s, whose file has a second name: %t", argv, m.Allowed)
		}
	}
	if p.MatchStart(ProgramStart{IsFile: func(string) bool { return true }}).Allowed {
		t.Error("a start without argv[0] is allowed")
	}
}

// TestMatchStartOfScriptAndInterpreter checks that a start which a rule for a script or a rule for
// its interpreter allows is allowed, in any order of the rules. If both allow it, the rule for the
// script counts.
func TestMatchStartOfScriptAndInterpreter(t *testing.T) {
	rules := []Command{
		{Name: "/bin/sh", Args: [][]string{{"-c", "true"}, {"/opt/ztool", "both"}}, Starts: []Start{{File: "/bin/dash", Name: "sh"}}},
		{Name: "ztool", Args: [][]string{{"check"}, {"both"}}, Starts: []Start{{File: "/bin/dash", Name: "sh", Script: "/opt/ztool"}}},
	}
	for _, c := range []struct{ argv, want string }{
		{"sh /opt/ztool check", "true ztool /opt/ztool [check] 1"},
		{"sh -c true", "true /bin/sh /bin/dash [-c true] 0"},
		{"sh /opt/ztool both", "true ztool /opt/ztool [both] 1"},
		{"sh /opt/ztool run", "false ztool /opt/ztool [run] 1"},
		{"sh -c false", "false /bin/sh /bin/dash [-c false] 0"},
	} {
		for range 2 {
			slices.Reverse(rules)
			p := &Profile{CommandArgs: []string{"sh"}, Commands: rules}
			m := p.MatchStart(ProgramStart{
				Argv: strings.Fields(c.argv), IsFile: func(f string) bool { return f == "/bin/dash" },
				IsScript: func(string, string) bool { return false },
			})
			if got := fmt.Sprint(m.Allowed, " ", m.Name, " ", m.Program, " ", m.Args, " ", m.Argument); got != c.want {
				t.Errorf("%s: %s, want %s", c.argv, got, c.want)
			}
			if m.Allowed && (len(m.Commands) != 1 || m.Commands[0].Name != m.Name) {
				t.Errorf("%s: %d rules", c.argv, len(m.Commands))
			}
		}
	}
}

func TestCommandMatchKeeps(t *testing.T) {
	granted := func(variable string) bool { return variable == "NODE_OPTIONS=--a" || variable == "TOKEN=t" }
	only := &Command{Args: [][]string{{}}, Envs: []string{"FOO", "GIT_*"}}
	args := &Command{Args: [][]string{{}}}
	plain := &Command{}
	all := []string{"PATH", "LC_ALL", "FOO", "FOOT", "TOKEN", "GIT_TRACE", "GIT_EXEC_PATH=/x", "LD_PRELOAD", "NODE_OPTIONS=--a", "NODE_OPTIONS=--b", "NODE_OPTIONS"}
	for _, c := range []struct {
		commands []*Command
		want     string
	}{
		{nil, strings.Join(all, " ")},
		{[]*Command{plain}, strings.Join(all, " ")},
		{[]*Command{only}, "PATH LC_ALL FOO GIT_TRACE"},
		{[]*Command{args}, "PATH LC_ALL FOO FOOT TOKEN GIT_TRACE NODE_OPTIONS=--a"},
		{[]*Command{only, args}, "PATH LC_ALL FOO FOOT TOKEN GIT_TRACE NODE_OPTIONS=--a"},
	} {
		m := CommandMatch{Allowed: true, Commands: c.commands}
		got := slices.DeleteFunc(slices.Clone(all), func(v string) bool { return !m.Keeps(v, granted) })
		if strings.Join(got, " ") != c.want {
			t.Errorf("%d rules: %q, want %q", len(c.commands), got, c.want)
		}
	}
}

func TestCheckArguments(t *testing.T) {
	for list, want := range map[string]bool{"": true, "a *": true, "**": true, "a **": true, "** a": false, "a ** b": false, "a\x00": false} {
		if err := CheckArguments(strings.Fields(list)); (err == nil) != want {
			t.Errorf("%q: %v", list, err)
		}
	}
}
