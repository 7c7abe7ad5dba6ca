package learn

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// tools returns the tools for which a result has a profile, and the profiles.
func (h aHost) profiles(t *testing.T, r *Result) map[string]*policy.Profile {
	out := map[string]*policy.Profile{}
	for _, table := range r.Tables {
		tool := table.Tool
		if tool == config.AnyTool {
			tool = "no tool with a table"
		}
		out[table.Tool] = h.profile(t, string(r.TOML()), tool)
	}
	return out
}

func profileOf(all map[string]*policy.Profile, tool string) *policy.Profile {
	for _, name := range []string{tool, config.AnyTool, ""} {
		if p := all[name]; p != nil && (name != "" || len(all) == 1) {
			return p
		}
	}
	return nil
}

// check holds what is true of each result.
func (h aHost) check(t *testing.T, in Input, r *Result) {
	t.Helper()
	text := string(r.TOML())
	c, err := config.Decode([]byte(text), "learned.toml")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	direct := &config.Config{Servers: map[string]*config.Server{"s": r.Server()}}
	if got, want := string(c.Encode()), string(direct.Encode()); got != want {
		t.Errorf("the text says\n%s\nand the table\n%s", got, want)
	}
	if lines := strings.Count(text, "\n"); lines > 130 {
		t.Errorf("%d lines", lines)
	}
	profiles := h.profiles(t, r)
	for _, o := range in.Observations {
		got := Judge(profileOf(profiles, o.Tool), o)
		if reason := r.Leaves(o); reason == "" && got.Verdict == Refused {
			t.Errorf("%s %s %s %q of %q was learned, and is refused:\n%s", o.Axis, o.Operation, o.Target, o.Arguments, o.Tool, text)
		}
	}
	h.checkNothingSensitive(t, profiles, text)
	h.checkMinimal(t, in, r)
	twice := in
	twice.Observations = slices.Concat(in.Observations, in.Observations)
	if more := Learn(twice); !slices.EqualFunc(more.Tables, r.Tables, func(a, b Table) bool { return a.Tool == b.Tool && sameRules(a.Rules, b.Rules) }) {
		t.Errorf("seen twice:\n%s\nnot\n%s", more.TOML(), text)
	}
	slices.Reverse(in.Observations)
	if again := string(Learn(in).TOML()); again != text {
		t.Errorf("in another order:\n%s\nnot\n%s", again, text)
	}
}

// sensitive are the sensitive paths of a host of the tests, and some that it has not.
var sensitive = sync.OnceValue(func() (all []string) {
	h := newHost()
	host := h.host()
	for _, at := range append(h.sorted(), "/home/u/.netrc", "/home/u/.config/gh") {
		if resolve.Sensitive(&host, &policy.Policy{}, at) != "" {
			all = append(all, at)
		}
	}
	return all
})

func (h aHost) checkNothingSensitive(t *testing.T, profiles map[string]*policy.Profile, text string) {
	t.Helper()
	for _, p := range profiles {
		for _, at := range sensitive() {
			if p.RightsAt(at) != 0 {
				t.Errorf("%s is granted (%s):\n%s", at, p.RightsAt(at), text)
			}
		}
		for _, at := range []string{"/", "/home", "/home/u", "/home/other", "/etc", "/srv", "/usr/local"} {
			if p.RightsAt(at)&^(policy.Read|policy.Execute) != 0 || at != "/usr/local" && p.RightsAt(at) != 0 {
				t.Errorf("%s is granted:\n%s", at, text)
			}
		}
		for _, r := range p.Net {
			if reason, _ := whyNoHost(r.Host); reason != "" {
				t.Errorf("%s is granted:\n%s", r.Host, text)
			}
		}
	}
}

// checkMinimal: without any one rule, something that was seen and is granted is refused. (What one tool's table
// leaves out, that of another may grant.)
func (h aHost) checkMinimal(t *testing.T, in Input, r *Result) {
	t.Helper()
	whole := h.profiles(t, r)
	for _, rule := range r.Rules() {
		if rule.Env != nil {
			continue
		}
		less := r.Without(rule.ID)
		profiles := h.profiles(t, less)
		if !slices.ContainsFunc(in.Observations, func(o policy.Observation) bool {
			return Judge(profileOf(whole, o.Tool), o).Verdict == Allowed && Judge(profileOf(profiles, o.Tool), o).Verdict != Allowed
		}) {
			t.Errorf("the rule %s is not needed:\n%s", rule.ID, r.TOML())
		}
	}
}

// random returns observations of a server that does anything to any path of the host, and to some that
// it has not.
func (h aHost) random(rnd *rand.Rand) (all []policy.Observation) {
	paths := h.sorted()
	hosts := []string{"api.example.com:443", "api.example.com:80", "b.example.com:8080", "us.i.posthog.com:443", "127.0.0.1:80", "redis:6379", "pypi.org:443"}
	programs := [][]string{{"/usr/bin/git", "git", "log", "-1"}, {"/usr/bin/git", "git", "-C", "/x", "status"}, {"/usr/bin/rg", "rg", "x y"}, {"/usr/bin/dash", "sh", "-c", "ls"}, {"/usr/bin/python3.11", "python3", "a.py"}, {"/usr/bin/curl", "curl", "--version"}, {"/usr/bin/server", "server"}, {"/usr/bin/tool", "tool", "--all"}, {"/usr/bin/tool", "/bin/tool"}}
	for range 1 + rnd.IntN(25) {
		o := policy.Observation{Axis: policy.AxisFs, Tool: []string{"", "one", "two"}[rnd.IntN(3)], Count: 1}
		switch rnd.IntN(8) {
		case 0:
			o.Axis, o.Operation, o.Target = policy.AxisNet, "connect", hosts[rnd.IntN(len(hosts))]
			o.Scheme = []string{"", "http", "https", "tcp"}[rnd.IntN(4)]
		case 1:
			p := programs[rnd.IntN(len(programs))]
			o.Axis, o.Operation, o.Target, o.Arguments = policy.AxisProcess, "exec", p[0], p[1:]
		default:
			op := policy.OpRead + policy.Op(rnd.IntN(8))
			if op == policy.OpExec {
				op = policy.OpRead
			}
			o.Operation, o.Target = op.String(), paths[rnd.IntN(len(paths))]
			if o.Target == "/" {
				o.Target = "/home/u/proj/src/a.go"
			}
			if op == policy.OpCreate || op == policy.OpMkdir {
				o.Target = strings.TrimSuffix(o.Target, "/") + "/new" + string(rune('a'+rnd.IntN(3)))
			}
		}
		all = append(all, o)
	}
	return all
}

func TestProperties(t *testing.T) {
	for seed := range uint64(testkit.Rounds(50, 1000)) {
		h := newHost()
		in := h.input(t, h.random(rand.New(rand.NewPCG(seed, 1)))...)
		in.Stateless = Stateless{Able: seed%3 == 0, Observations: in.Observations}
		h.check(t, in, Learn(in))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
