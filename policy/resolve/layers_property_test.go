package resolve

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

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
	allow := func(key string) string {
		if project && !g.chance("refuses") || g.chance("allows") {
			return ", " + key
		}
		return ""
	}
	var b strings.Builder
	if g.chance("sensitive") {
		fmt.Fprintf(&b, "sensitive_paths = [%q]\n", g.one("a", "a/b", "~/other/a", "**/c", "~/proj/b*"))
	}
	if g.chance("commands") {
		fmt.Fprintf(&b, "commands = { %s = { %s } }\n", g.one("git", "sh"), g.one("", "args = [['status']]", "args = [['**']]", "args = [['log', '*']]"))
	}
	b.WriteString(g.list("fs", project, func() string {
		return fmt.Sprintf("path = %q", g.one(".", "a", "a/b", "a/b/c", "b", "link", "link/b", "~/proj/a", "~/other", "~/other/a")) + allow(g.one("read = true", "write = true", "read = true, write = true"))
	}))
	b.WriteString(g.list("net", project, func() string {
		return fmt.Sprintf("host = %q", g.one("h.example", "x.h.example", "*.h.example", "*.example", "*")) +
			g.one("", "", ", scheme = 'https'", ", port = 443", ", scheme = 'tcp', port = 443") + allow("allow = true")
	}))
	b.WriteString(g.list("net", project, func() string { // with paths and methods
		return fmt.Sprintf("host = %q", g.one("h.example", "*.h.example")) + g.one("", ", scheme = 'https', port = 443") +
			g.one("", ", path_prefix = '/a'", ", path_prefix = '/a/b'") + g.one("", ", methods = ['GET']") + allow("allow = true"+g.one("", ", secret = { env = 'GH_TOKEN' }"))
	}))
	if all := strings.Split(b.String(), "\n"); g.chance("first net") {
		all = slices.Delete(all, len(all)-2, len(all)-1)
		b.Reset()
		b.WriteString(strings.Join(all, "\n"))
	} else {
		all = slices.Delete(all, len(all)-3, len(all)-2)
		b.Reset()
		b.WriteString(strings.Join(all, "\n"))
	}
	b.WriteString(g.list("env", project, func() string {
		return fmt.Sprintf("name = %q", g.one("GH_TOKEN", "GH_*", "SECRET", "*")) + allow("read = true")
	}))
	return b.String()
}

// layerSettings are the settings that can refuse: each with its values, from the strictest.
var layerSettings = map[string][]string{
	"pin_tools": {`"enforce"`, `"warn"`, `"off"`}, "leaks": {`"block"`, `"warn"`, `"off"`}, "undo": {`"call"`, `"session"`, `"off"`},
	"install_scripts": {"false", "true"}, "auto_install": {"false", "true"}, "leak_patterns": {"true", "false"},
	"limits.memory_mb": {"100", "4096", "9000"}, "limits.net_out_mb": {"100", "200", "0"},
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

// policies returns the policies of all processes by their tool.
func policies(c *config.Config) map[string]*policy.Policy {
	out := map[string]*policy.Policy{}
	for _, tool := range []string{"", "t", "u", "v"} {
		if p, err := c.Policy("s", tool); err == nil {
			out[tool] = p
		}
	}
	return out
}

// TestRefusalsStay checks that no project's file gives what a layer below it refuses.
func TestRefusalsStay(t *testing.T) {
	dir := t.TempDir()
	h := newFake(aSystem, "f /home/u/proj/a/b/c", "f /home/u/proj/b/x", "f /home/u/other/a/b/c", "l /home/u/proj/link a", "x /usr/bin/git", "x /usr/bin/sh")
	user, none := filepath.Join(dir, "user.toml"), filepath.Join(dir, "none.toml")
	checked, given := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		g := layerGenerator{rt}
		settings, below := g.settings()
		text := g.server(settings, false)
		if g.chance("defaults") {
			text = "[defaults]\n" + settings + "env = [{ name = 'SECRET' }]\nsensitive_paths = ['b']\n" + g.server("", false)
		}
		asked, _ := g.settings()
		project := g.server(asked, true)
		if err := os.WriteFile(user, []byte(text), 0o600); err != nil {
			rt.Fatal(err)
		}
		o := config.LoadOptions{Workspace: dir, System: none, User: user, Trust: none}
		lower, err := config.Load(o)
		if err != nil {
			return
		}
		o.Project = []byte(project)
		with, err := config.Load(o)
		if err != nil {
			return
		}
		for tool, p := range policies(with) {
			out, _, err := Resolve(p, h.host())
			if err != nil {
				continue
			}
			checked++
			c := &layerChecker{rt: rt, out: out, p: p, tables: lowerTables(lower, with, p, tool), texts: "tool " + tool + "\n" + text + "--- project\n" + project}
			given += c.files(h) + c.hosts() + c.variables()
			c.programs()
			c.settings(below)
		}
	})
	if checked == 0 || given == 0 {
		t.Errorf("%d policies were checked, and gave %d things", checked, given)
	}
}

// lowerTables returns the policies whose refusals hold for a process: that of the same process, or
// those of all if the project makes the server its own.
func lowerTables(lower, with *config.Config, p *policy.Policy, tool string) (out []*policy.Policy) {
	own := p.Project != "" || lower.Servers["s"].IsStateful() != with.Servers["s"].IsStateful()
	for name, l := range policies(lower) {
		if own || name == tool || lower.Servers["s"].IsStateful() {
			out = append(out, l)
		}
	}
	return out
}

type layerChecker struct {
	rt     *rapid.T
	out    *policy.Profile
	p      *policy.Policy
	tables []*policy.Policy
	texts  string
}

func (c *layerChecker) fail(format string, args ...any) {
	c.rt.Fatalf("%s\n%s", fmt.Sprintf(format, args...), c.texts)
}

func (c *layerChecker) files(h fakeHost) (given int) {
	for _, at := range h.paths() {
		if !strings.HasPrefix(at, "/home/u/") || !c.out.Allows(policy.OpRead, at) && !c.out.Allows(policy.OpWrite, at) || policy.Within(at, c.out.Home) {
			continue
		}
		given++
		for _, l := range c.tables {
			if why := refusesFile(l, at); why != "" {
				c.fail("%s is given, which the layers below refuse by %s", at, why)
			}
		}
	}
	return given
}

// refusesFile returns the rule of a policy that refuses a path. It knows the links and directories of
// TestRefusalsStay.
func refusesFile(l *policy.Policy, at string) string {
	expand := func(p string) string {
		base := strings.Replace(l.Workspace, "~", "/home/u", 1)
		if base == "" {
			base = "/home/u/proj"
		}
		if rest, ok := strings.CutPrefix(p, "~"); ok {
			base, p = "/home/u", rest
		}
		return strings.Replace(filepath.Join(base, p), "/proj/link", "/proj/a", 1)
	}
	var best policy.FsRule
	where := ""
	for _, r := range l.Fs {
		if p := expand(r.Path); policy.Within(at, p) && len(p) >= len(where) {
			best, where = r, p
		}
	}
	if where != "" && best.Rights() == 0 {
		return "path = " + best.Path
	}
	for p := at; p != "/"; p = filepath.Dir(p) {
		for _, s := range l.Sensitive {
			rest, any := strings.CutPrefix(s, "**/")
			ok := filepath.Base(p) == rest
			if !any {
				ok, _ = filepath.Match(expand(s), p)
			}
			if ok && (where == "" || !policy.Within(where, p)) {
				return "sensitive " + s
			}
		}
	}
	return ""
}

func (c *layerChecker) hosts() (given int) {
	for _, host := range []string{"h.example", "x.h.example", "other.example", "example"} {
		for _, scheme := range []string{"http", "https"} {
			port := map[string]int{"http": 80, "https": 443}[scheme]
			for _, path := range []string{"/", "/a", "/a/b", "/a/b/c", "/c"} {
				for _, method := range []string{"GET", "POST"} {
					seenPath, seenMethod := path, method
					if !policy.AnyNeedsInterception(c.out.Net, host, scheme, port) {
						seenPath, seenMethod = "", ""
					}
					by, ok := policy.MatchNet(c.out.Net, host, scheme, port, seenPath, seenMethod)
					if !ok {
						continue
					}
					given++
					for _, l := range c.tables {
						if r, allowed := policy.MatchNet(l.Net, host, scheme, port, path, method); r.Host != "" && !allowed {
							c.fail("%s %s://%s%s is given by %+v, which the layers below refuse by %+v", method, scheme, host, path, by, r)
						}
					}
				}
			}
		}
	}
	return given
}

func (c *layerChecker) variables() (given int) {
	got := map[string]bool{}
	for _, s := range c.out.Secrets {
		got[s.Env] = true
	}
	for _, v := range c.out.Env {
		got[v.Name] = true
	}
	for _, name := range []string{"GH_TOKEN", "SECRET"} {
		if !got[name] {
			continue
		}
		given++
		for _, l := range c.tables {
			// The user's own table may send a secret that it does not forward.
			if r, ok := policy.MatchEnv(l.Env, name); r.Name != "" && !ok && !slices.ContainsFunc(l.Net, func(r policy.NetRule) bool { return len(r.Secrets) > 0 }) {
				c.fail("the variable %s is given, which the layers below refuse by %+v", name, r)
			}
		}
	}
	return given
}

func (c *layerChecker) programs() {
	starts := func(p *policy.Policy, name string, args []string) bool {
		return p.Commands == nil || slices.ContainsFunc(p.Commands, func(r policy.CommandRule) bool {
			return r.Name == name && (r.Args == nil || slices.ContainsFunc(r.Args, func(list []string) bool { return policy.MatchArguments(list, args) }))
		})
	}
	for _, name := range []string{"git", "sh", "perl"} {
		for _, args := range [][]string{{}, {"status"}, {"log", "x"}, {"push", "x", "y"}} {
			for _, l := range c.tables {
				if starts(c.p, name, args) && !starts(l, name, args) {
					c.fail("%s %q may start, which the layers below refuse", name, args)
				}
			}
		}
	}
}

func (c *layerChecker) settings(below map[string]int) {
	p := c.p
	net := fmt.Sprint(p.Limits.NetOutMB)
	for key, value := range map[string]string{
		"pin_tools": fmt.Sprintf("%q", p.Packages.PinTools), "leaks": fmt.Sprintf("%q", p.Leaks), "undo": fmt.Sprintf("%q", p.Undo.Mode),
		"install_scripts": fmt.Sprint(p.Packages.InstallScripts), "auto_install": fmt.Sprint(p.Packages.AutoInstall), "leak_patterns": fmt.Sprint(p.LeakPatterns),
		"limits.memory_mb": fmt.Sprint(p.Limits.MemoryMB), "limits.net_out_mb": net,
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
