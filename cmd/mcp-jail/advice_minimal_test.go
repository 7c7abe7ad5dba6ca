//go:build linux

package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// reduced is a proposal without one of its parts.
type reduced struct {
	rest  *proposal
	part  string
	path  string        // the path of the rule
	right policy.Rights // the removed right; 0 for the whole rule
}

var (
	pathOf  = regexp.MustCompile(`path = "(.*)"`)
	rightIn = regexp.MustCompile(`(?m)^(read|write|create|update|delete|execute) = true\n`)
	rightOf = map[string]policy.Rights{
		"read": policy.Read, "write": policy.Write, "create": policy.Create, "update": policy.Update, "delete": policy.Delete, "execute": policy.Execute,
	}
)

// reductions returns every way to remove a part of a proposal.
func (p *proposal) reductions() (all []reduced) {
	for i, rule := range p.rules {
		without := func(now ...string) *proposal {
			return &proposal{rules: slices.Concat(p.rules[:i:i], now, p.rules[i+1:])}
		}
		path, given := "", policy.Rights(0)
		if m := pathOf.FindStringSubmatch(rule); m != nil {
			path = m[1]
		}
		rights := rightIn.FindAllStringSubmatch(rule, -1)
		for _, right := range rights {
			given |= rightOf[right[1]]
			if len(rights) > 1 {
				all = append(all, reduced{without(strings.Replace(rule, right[0], "", 1)), strings.TrimSpace(right[0]) + " of " + path, path, rightOf[right[1]]})
			}
		}
		all = append(all, reduced{without(), rule, path, given})
	}
	for i, flag := range p.flags {
		without := func(now ...string) *proposal {
			return &proposal{flags: slices.Concat(p.flags[:i:i], now, p.flags[i+1:])}
		}
		name, value, _ := strings.Cut(flag, " ")
		switch name {
		case "--write":
			all = append(all, reduced{without("--read " + value), "the writing of " + flag, value, policy.Write}, reduced{without(), flag, value, policy.Read | policy.Write})
		case "--read":
			all = append(all, reduced{without(), flag, value, policy.Read})
		default:
			all = append(all, reduced{without(), flag, "", 0})
		}
	}
	return all
}

// alreadyGranted reports whether the policy granted a part before the proposal. A rule
// decides alone about its path, so a proposed rule repeats earlier rights.
func (c adviceCase) alreadyGranted(t *testing.T, w, from *adviceWorld, less reduced) bool {
	t.Helper()
	if less.path == "" || less.right == 0 {
		return false
	}
	var plan struct {
		Profile struct {
			FS []struct {
				Path   string
				Rights []string
			}
		}
	}
	args := append([]string{"plan", "--format", "json"}, c.arguments(t, w, &proposal{}, nil, c.argvOf(w))...)
	must(t, json.Unmarshal([]byte(w.output(t, args...)), &plan))
	var before policy.Profile
	for _, e := range plan.Profile.FS {
		rights := policy.Rights(0)
		for _, name := range e.Rights {
			rights |= rightOf[name]
		}
		before.Entries = append(before.Entries, policy.Entry{Path: e.Path, Rights: rights})
	}
	path := w.words(t, strings.ReplaceAll(less.path, from.base, w.base))[0]
	return before.RightsAt(w.inWork(path)).Has(less.right)
}

// TestSuperfluousAdviceFound tests superfluous itself: it finds a rule, a right, a flag,
// and the write access of a flag.
func TestSuperfluousAdviceFound(t *testing.T) {
	testkit.NeedsLong(t)
	t.Parallel()
	for _, tt := range []struct {
		c    adviceCase
		p    proposal
		want []string
	}{
		{adviceCase{flags: "--write .", before: withNote, script: "cat $W/home/notes/a.md"},
			proposal{flags: []string{"--read ~/notes/a.md", "--env TERM"}}, []string{"--env TERM"}},
		{adviceCase{flags: "--write .", before: withNote, script: "cat $W/home/notes/a.md"},
			proposal{flags: []string{"--write ~/notes"}}, []string{"the writing of --write ~/notes"}},
		{adviceCase{rules: readRule("."), before: withInput, script: "touch g"},
			proposal{rules: []string{strings.ReplaceAll(writeRule(".")+"execute = true\n", "[access", "[servers.it.access")}}, []string{"execute = true of ."}},
		{adviceCase{rules: readRule("."), before: withInput, script: "cat in.txt $W/home/.ssh/id_ed25519"},
			proposal{rules: []string{strings.ReplaceAll(readRule("~/.ssh/id_ed25519"), "[access", "[servers.it.access"), "[[servers.it.access.env]]\nname = \"TERM\"\nread = true\n"}},
			[]string{"[[servers.it.access.env]]\nname = \"TERM\"\nread = true\n"}},
	} {
		from := tt.c.world(t, "")
		if got := tt.c.attempt(t, tt.c.world(t, ""), &tt.p, from); got.IsError {
			t.Errorf("%v does not help: %s", tt.p, got.texts())
		}
		if got := tt.c.superfluous(t, &tt.p, from); !slices.Equal(got, tt.want) {
			t.Errorf("%v: needless are %q, want %q", tt.p, got, tt.want)
		}
	}
}
