package resolve

import (
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A layerGenerator writes random files: one of the user and one of a project.
type layerGenerator struct{ t *rapid.T }

func (g layerGenerator) one(words ...string) string {
	return rapid.SampledFrom(words).Draw(g.t, "word")
}

func (g layerGenerator) chance(label string) bool { return rapid.IntRange(0, 2).Draw(g.t, label) == 0 }

// list writes some rules, for a project now and then with a strategy.
func (g layerGenerator) list(key string, project bool, rule func() string) string {
	var all []string
	for range rapid.IntRange(0, 3).Draw(g.t, key) {
		all = append(all, "{ "+rule()+" }")
	}
	text := "[" + strings.Join(all, ", ") + "]"
	if project && g.chance("strategy") {
		text = fmt.Sprintf("{ strategy = %q, value = %s }", g.one("append", "prepend", "replace", "dedup"), text)
	}
	return key + " = " + text + "\n"
}

func (g layerGenerator) access(project bool) string {
	allow := func(grants, refuses string) string {
		if project && !g.chance("refuses") || g.chance("allows") {
			return ", " + grants
		}
		return refuses
	}
	var b strings.Builder
	if g.chance("sensitive") {
		fmt.Fprintf(&b, "sensitive_paths = [%q]\n", g.one("a", "a/b", "~/other/a", "**/c", "~/proj/b*"))
	}
	if g.chance("commands") {
		fmt.Fprintf(&b, "commands = { %s = { %s } }\n", g.one("git", "sh"), g.one("", "args = [['status']]", "args = [['**']]", "args = [['log', '*']]"))
	}
	b.WriteString(g.list("fs", project, func() string {
		return fmt.Sprintf("path = %q", g.one(".", "a", "a/b", "a/b/c", "b", "link", "link/b", "~/proj/a", "~/other", "~/other/a")) + allow(g.one("read = true", "write = true", "read = true, write = true"), "")
	}))
	withPaths := g.chance("paths")
	b.WriteString(g.list("net", project, func() string {
		if withPaths {
			return fmt.Sprintf("host = %q", g.one("h.example", "*.h.example")) + g.one("", ", scheme = 'https', port = 443") +
				g.one("", ", path_prefix = '/a'", ", path_prefix = '/a/b'") + g.one("", ", methods = ['GET']") + allow("allow = true"+g.one("", ", secret = { env = 'GH_TOKEN' }"), ", allow = false")
		}
		return fmt.Sprintf("host = %q", g.one("h.example", "x.h.example", "*.h.example", "*.example", "*")) +
			g.one("", "", ", scheme = 'https'", ", port = 443", ", scheme = 'tcp', port = 443") + allow("allow = true", ", allow = false")
	}))
	b.WriteString(g.list("env", project, func() string {
		return fmt.Sprintf("name = %q", g.one("GH_TOKEN", "GH_*", "SECRET", "*")) + allow("read = true", ", read = false")
	}))
	return b.String()
}

// layerSettings are the settings that can refuse: each with its values, from the strictest.
var layerSettings = map[string][]string{
	"pin_tools": {`"enforce"`, `"warn"`, `"off"`}, "leaks": {`"block"`, `"warn"`, `"off"`}, "undo": {`"call"`, `"session"`, `"off"`},
	"leak_patterns":    {"true", "false"},
	"ask":              {"false", "true"},
	"log":              {`"on"`, `"off"`},
	"limits.memory_mb": {"100", "4096", "9000"},
}

func (g layerGenerator) settings() (text string, chosen map[string]int) {
	chosen = map[string]int{}
	for _, key := range slices.Sorted(maps.Keys(layerSettings)) {
		if values := layerSettings[key]; g.chance(key) {
			chosen[key] = rapid.IntRange(0, len(values)-1).Draw(g.t, "value")
			text += key + " = " + values[chosen[key]] + "\n"
		}
	}
	return text, chosen
}

// server writes a server's table. A stateless one has tables of tools.
func (g layerGenerator) server(settings string, project bool) string {
	text := "[servers.s]\n"
	if !project || g.chance("command") {
		text += "command = 'server'\n"
	}
	stateful := g.one("", "", "stateful = false\n", "stateful = true\n")
	text += stateful + g.one("", "", "", "workspace = '/home/u/other'\n", "workspace = '~/proj/a'\n") + settings
	if project {
		text += g.one("", "", "arguments = ['x']\n", "variables = ['GH_TOKEN']\n")
	}
	if stateful != "stateful = false\n" && !(project && g.chance("tools")) {
		return text + "[servers.s.access]\n" + g.access(project)
	}
	for _, tool := range []string{"*", "t", "u"} {
		if g.chance(tool) {
			text += fmt.Sprintf("[servers.s.tools.%q.access]\n", tool) + g.access(project)
		}
	}
	return text
}

// TestProjectTakesAway checks that a project's file without a program of its own gives one of the user's servers
// nothing, and nothing that its own table does not allow. A table that mentions nothing changes nothing.
func TestProjectTakesAway(t *testing.T) {
	dir := t.TempDir()
	h := newFake(aSystem, "f /home/u/proj/a/b/c", "f /home/u/proj/b/x", "f /home/u/other/a/b/c", "l /home/u/proj/link a", "x /usr/bin/git", "x /usr/bin/sh")
	user, none := filepath.Join(dir, "user.toml"), filepath.Join(dir, "none.toml")
	checked, given, taken := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		g := layerGenerator{rt}
		settings, below := g.settings()
		text := g.server(settings, false)
		if g.chance("defaults") {
			text = "[defaults]\n" + settings + "env = [{ name = 'SECRET', read = false }]\nsensitive_paths = ['b']\n" + g.server("", false)
		}
		asked, _ := g.settings()
		project := g.server(asked, true)
		if err := os.WriteFile(user, []byte(text), 0o600); err != nil {
			rt.Fatal(err)
		}
		load := func(project string) *config.Config {
			c, err := config.Load(config.LoadOptions{Workspace: dir, System: none, User: user, Trust: none, Project: []byte(project)})
			if err != nil {
				return &config.Config{}
			}
			return c
		}
		lower, same, with := load("version = 1\n"), load("[servers.s]\n"), load(project)
		for _, tool := range []string{"", "t", "u", "v"} {
			p, err := with.Policy("s", tool)
			own, errOwn := lower.Policy("s", tool)
			if err != nil || errOwn != nil || p.Project != "" {
				continue // it is the project's own
			}
			mine, _, errOwn := Resolve(own, h.host())
			if unchanged, err := same.Policy("s", tool); err != nil || unchanged.Narrow != nil || !reflect.DeepEqual(unchanged, own) {
				rt.Fatalf("an empty table changes the policy (%v)\n%s", err, text)
			}
			out, _, err := Resolve(p, h.host())
			if err != nil || errOwn != nil {
				continue
			}
			checked++
			c := &layerChecker{rt: rt, out: out, p: p, texts: "tool " + tool + "\n" + text + "--- project\n" + project}
			sides := []*policy.Profile{mine}
			if p.Narrow != nil {
				theirs, _, err := Resolve(p.Narrowed(), h.host())
				if err != nil {
					rt.Fatal(err)
				}
				sides = append(sides, theirs)
			}
			for _, side := range sides {
				gave, took := c.files(h, side)
				given, taken = given+gave, taken+took
				c.hosts(side)
				c.variables(side)
				c.programs(side)
			}
			c.settings(below)
		}
	})
	if checked == 0 || given == 0 || taken == 0 {
		t.Errorf("%d policies were checked, which gave %d things and took %d", checked, given, taken)
	}
}

// TestMeetOfRules checks that the meet of two profiles allows at each path what both allow, and nothing else, also
// where one of them names a sensitive path or a protected name.
func TestMeetOfRules(t *testing.T) {
	compared, named := 0, 0
	seeds := testkit.Rounds(200, 4000)
	for seed := range int64(seeds) {
		g := &generator{rand.New(rand.NewSource(seed)), seed%2 == 0, hotNames}
		h := g.host()
		rulesA, rulesB := g.rules(), g.rules()
		a, errA := resolveRules(h, rulesA)
		b, errB := resolveRules(h, rulesB)
		if errA != nil || errB != nil {
			continue
		}
		met, err := policy.Meet(a, b)
		if err != nil {
			continue // it names both rules
		}
		compared++
		if again, err := policy.Meet(a, a); err != nil || !reflect.DeepEqual(again.Entries, a.Entries) {
			t.Fatalf("seed %d: the meet of a profile with itself (%v) is another\n%s\n%s", seed, err, printProfile(a), printProfile(again))
		}
		for _, at := range g.probes(h) {
			want := a.RightsAt(at) & b.RightsAt(at)
			denial, _ := denialAround(at)
			if denial != "" && want != 0 {
				named++
			}
			if got := met.RightsAt(at); got != want && !(strings.Contains(at, "/.") && got == want&^policy.Write) {
				t.Fatalf("seed %d: %s at %s, where both allow %s\n%+v\n%+v\n%s\n%s\n%s", seed, got, at, want, rulesA, rulesB, printProfile(a), printProfile(b), printProfile(met))
			}
			for op := policy.OpRead; op <= policy.OpRemove; op++ {
				if met.Allows(op, at) && !(a.Allows(op, at) && b.Allows(op, at)) {
					t.Fatalf("seed %d: %s of %s\n%+v\n%+v\n%s\n%s\n%s", seed, op, at, rulesA, rulesB, printProfile(a), printProfile(b), printProfile(met))
				}
			}
		}
	}
	if compared < seeds/10 || named == 0 {
		t.Errorf("%d of %d were compared, %d places in denials", compared, seeds, named)
	}
}

type layerChecker struct {
	rt    *rapid.T
	out   *policy.Profile
	p     *policy.Policy
	texts string
}

func (c *layerChecker) fail(format string, args ...any) {
	c.rt.Fatalf("%s\n%s", fmt.Sprintf(format, args...), c.texts)
}

func (c *layerChecker) files(h fakeHost, side *policy.Profile) (given, taken int) {
	for _, at := range h.paths() {
		for op := policy.OpRead; op <= policy.OpRemove; op++ {
			switch in, has := c.out.Allows(op, at), side.Allows(op, at); {
			case in && !has && !c.isReplaced(side, op, at):
				c.fail("%s of %s is given, which one of the two does not allow", op, at)
			case in:
				given++
			case has:
				taken++
			}
		}
	}
	return given, taken
}

// isReplaced reports whether a file may be made or removed because the meet gives it what its neighbours have. One of
// the two gives that file more, and so keeps it in its place.
func (c *layerChecker) isReplaced(side *policy.Profile, op policy.Op, at string) bool {
	dir, needed := path.Dir(at), policy.Create
	if op == policy.OpRemove {
		needed = policy.Delete
	}
	return op >= policy.OpCreate && side.RightsAt(dir).Has(needed) && side.RightsAt(at).Has(side.RightsAt(dir)&policy.FileRights) &&
		c.out.RightsAt(at)&policy.FileRights == c.out.RightsAt(dir)&policy.FileRights
}

func (c *layerChecker) hosts(side *policy.Profile) {
	for _, host := range []string{"h.example", "x.h.example", "other.example", "example"} {
		for scheme, port := range map[string]int{"http": 80, "https": 443} {
			for _, path := range []string{"/", "/a", "/a/b", "/a/b/c", "/c"} {
				for _, method := range []string{"GET", "POST"} {
					seenPath, seenMethod := path, method
					if !policy.AnyNeedsInterception(c.out.Net, host, scheme, port) {
						seenPath, seenMethod = "", ""
					}
					by, ok := policy.MatchNet(c.out.Net, host, scheme, port, seenPath, seenMethod)
					if r, allowed := policy.MatchNet(side.Net, host, scheme, port, path, method); ok && !allowed {
						c.fail("%s %s://%s%s is given by %+v, and %+v does not allow it", method, scheme, host, path, by, r)
					}
				}
			}
		}
	}
}

func (c *layerChecker) variables(side *policy.Profile) {
	for _, v := range c.out.Env {
		has := slices.ContainsFunc(side.Env, func(o policy.Variable) bool { return o.Name == v.Name })
		if !has && !strings.HasPrefix(v.Rule, policy.OwnVariable) && !slices.ContainsFunc(c.out.Secrets, func(s policy.Secret) bool { return s.Env == v.Name }) {
			c.fail("the variable %s is given, which one of the two does not have", v.Name)
		}
	}
}

func (c *layerChecker) programs(side *policy.Profile) {
	for _, file := range []string{"/usr/bin/git", "/usr/bin/sh", "/usr/bin/perl", "/usr/bin/server"} {
		for _, args := range [][]string{{}, {"status"}, {"log", "x"}, {"push", "x", "y"}} {
			starts := func(p *policy.Profile) bool {
				s := policy.ProgramStart{Argv: append([]string{file}, args...), IsFile: func(path string) bool { return path == file }, IsScript: func(word, script string) bool { return word == script }}
				return (p.Programs == nil || slices.Contains(p.Programs, file)) && (!p.ConstrainsStarts() || p.MatchStart(s).Allowed)
			}
			if starts(c.out) && !starts(side) {
				c.fail("%s %q may start, which one of the two does not allow", file, args)
			}
		}
	}
}

func (c *layerChecker) settings(below map[string]int) {
	p := c.p
	for key, value := range map[string]string{
		"pin_tools": fmt.Sprintf("%q", p.Packages.PinTools), "leaks": fmt.Sprintf("%q", p.Leaks), "undo": fmt.Sprintf("%q", p.Undo.Mode),
		"leak_patterns":    fmt.Sprint(p.LeakPatterns),
		"ask":              fmt.Sprint(p.Ask),
		"log":              map[bool]string{true: `"on"`, false: `"off"`}[p.Log],
		"limits.memory_mb": fmt.Sprint(p.Limits.MemoryMB),
	} {
		if value == `""` {
			value = `"off"`
		}
		chosen, has := below[key]
		if has && slices.Index(layerSettings[key], value) > chosen {
			c.fail("%s = %s, though the layers below have %s", key, value, layerSettings[key][chosen])
		}
	}
}
