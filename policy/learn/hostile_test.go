package learn

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// hostileNames are names with which a server would write into the document, or over the terminal.
var hostileNames = []string{
	"a\nb", "# x", "a\r[servers.evil]", "\"", "\\", "\"}, { path = \"/\", read = true", "]\n[servers.s.access]\nfs = [{ path = \"/\"", "\x1b[31m", "\u202egnp.exe", "\u2028", "\u0000", "\x7f", "\u0085",
	"~root", "~", "$HOME", "${X}", "**", "*", "a/*", "..", "'''", "\"\"\"", "\xff\xfe", "é\u0301\u0301\u0301\u0301\u0301\u0301", strings.Repeat("x", 4000), strings.Repeat("ü", 200), "\u200b", " ", "\t", "=", "{}", "a#b", "name with space", "🙂",
}

// TestHostileNames: whatever a name is, the document decodes, has one server, and grants nothing that
// was not asked for; no character of it is hidden.
func TestHostileNames(t *testing.T) {
	for _, n := range hostileNames {
		h := newHost()
		for _, dir := range []string{"/home/u/proj/", "/home/u/notes/", "/usr/bin/", "/srv/data/"} {
			if !strings.ContainsAny(n, "\x00") && n != ".." && n != "a/*" {
				h[dir+n] = aFile{0o755, "\x7fELF\x02\x01\x01\x00"}
				for up := path.Dir(dir + n); up != "/"; up = path.Dir(up) {
					h[up] = aFile{mode: fs.ModeDir | 0o755}
				}
			}
		}
		in := h.input(t)
		for _, dir := range []string{"/home/u/proj/", "/home/u/notes/", "/srv/data/", "/home/u/.ssh/", ""} {
			for _, op := range []string{"read", "write", "create", "remove", "list", n} {
				in.Observations = append(in.Observations, policy.Observation{Axis: policy.AxisFs, Operation: op, Target: dir + n, Tool: n})
			}
			in.Observations = append(in.Observations, policy.Observation{Axis: policy.AxisIPC, Operation: "connect", Target: dir + n})
		}
		in.Observations = append(in.Observations,
			policy.Observation{Axis: policy.AxisProcess, Operation: "exec", Target: "/usr/bin/" + n, Arguments: []string{n, n}},
			policy.Observation{Axis: policy.AxisProcess, Operation: "exec", Target: "/usr/bin/git", Arguments: []string{"git", n, n}},
			policy.Observation{Axis: policy.AxisProcess, Operation: "exec", Target: "/usr/bin/dash", Arguments: []string{"sh", "-c", n}},
			policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: n + ":443", Scheme: n},
			policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: n + ".i.posthog.com:443"},
			policy.Observation{Axis: policy.AxisNet, Operation: "resolve", Target: n},
			policy.Observation{Axis: policy.AxisNet, Operation: "request", Target: "api.example.com:80", Scheme: "http", Request: "GET /?token=" + n},
			policy.Observation{Axis: policy.Axis(n), Operation: n, Target: n})
		in.Variables = Variables{Granted: []string{n}, Withheld: []string{n + "X"}, Mentioned: []string{n + "X"}}
		in.Stateless = Stateless{Able: len(n)%2 == 0, Why: n, Observations: in.Observations}
		r := Learn(in)
		text := string(r.TOML())
		if strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && show.IsHidden(c) }) || !utf8.ValidString(text) {
			t.Errorf("%q: a hidden character in\n%s", n, text)
		}
		c, err := config.Decode([]byte(text), "learned.toml")
		if err != nil {
			t.Fatalf("%q: %v\n%s", n, err, text)
		}
		if len(c.Servers) != 1 || strings.Contains(text, "token") {
			t.Errorf("%q:\n%s", n, text)
		}
		h.check(t, in, r)
		if v := r.Verdict(); strings.ContainsFunc(v, show.IsHidden) || len(v) > 2000 {
			t.Errorf("%q: %q", n, v)
		}
	}
}

// TestFlood: a server that touches ten thousand files, hosts, programs and variables, by a hundred
// tools, gets a page, which says what it leaves out.
func TestFlood(t *testing.T) {
	words := []string{}
	for i := range 1000 {
		words = append(words, fmt.Sprintf("/home/u/d%d/f /home/u/w%d.txt /usr/bin/p%d*", i, i, i))
	}
	h := newHost(words...)
	in := h.input(t)
	in.Facts.Sensitive = func(p string) string { // as resolve.Sensitive, in less time
		return map[bool]string{true: "~/.ssh"}[policy.Within(p, "/home/u/.ssh")]
	}
	in.Facts.Guarded = func(string, bool) string { return "" }
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	add := func(o policy.Observation) {
		at = at.Add(time.Second)
		o.Time, o.Tool = at, fmt.Sprintf("tool%d", len(in.Observations)%100)
		in.Observations = append(in.Observations, o)
	}
	for i := range 1000 {
		for j := range 3 {
			add(policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: fmt.Sprintf("/home/u/.ssh/key%d-%d", i, j)})
		}
		add(policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: fmt.Sprintf("/home/u/d%d/f", i)})
		add(policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: fmt.Sprintf("/home/u/w%d.txt", i)})
		add(policy.Observation{Axis: policy.AxisNet, Operation: "connect", Scheme: "https", Target: fmt.Sprintf("h%d.example.com:443", i)})
		add(policy.Observation{Axis: policy.AxisNet, Operation: "resolve", Target: fmt.Sprintf("r%d.example.com", i)})
		add(policy.Observation{Axis: policy.AxisNet, Operation: "connect", Target: fmt.Sprintf("t%d.i.posthog.com:443", i)})
		add(policy.Observation{Axis: policy.AxisProcess, Operation: "exec", Target: fmt.Sprintf("/usr/bin/p%d", i), Arguments: []string{fmt.Sprint("p", i)}})
		add(policy.Observation{Axis: policy.AxisProcess, Operation: "exec", Target: "/usr/bin/git", Arguments: []string{"git", strings.Repeat("x", 1+i%20), fmt.Sprint(i)}})
		in.Variables.Granted = append(in.Variables.Granted, fmt.Sprint("V", i))
		in.Variables.Withheld = append(in.Variables.Withheld, fmt.Sprint("W", i))
	}
	in.Variables.Mentioned = in.Variables.Withheld
	for round := range 3 {
		able := round == 1
		in.Stateless.Able = able
		for i := range in.Observations {
			if round == 2 { // no time tells which was first
				in.Observations[i].Time = time.Time{}
			}
		}
		in.Stateless.Observations = in.Observations
		r := Learn(in)
		text := string(r.TOML())
		other := in
		other.Observations = slices.Clone(in.Observations)
		slices.Reverse(other.Observations)
		if string(Learn(other).TOML()) != text {
			t.Error("what is capped depends on the order")
		}
		if n := len(r.Rules()); n > maxRules {
			t.Errorf("%d rules", n)
		}
		if lines := strings.Count(text, "\n"); lines > 100 {
			t.Errorf("%d lines:\n%s", lines, text)
		}
		for line := range strings.Lines(text) {
			if len(line) > 1000 {
				t.Errorf("a line of %d bytes", len(line))
			}
		}
		for axis, least := range map[policy.Axis]int{policy.AxisFs: 900, policy.AxisNet: 900, policy.AxisEnv: 900} {
			if n := r.Capped()[axis]; n < least || !strings.Contains(text, "longer than a page") {
				t.Errorf("%d of %s were capped:\n%s", n, axis, text)
			}
		}
		if !able {
			h.checkNothingSensitive(t, h.profiles(t, r), text)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, n := range hostileNames {
		f.Add(n, "GET /"+n, n)
	}
	h := newHost()
	in := h.input(f)
	in.Facts.Kind = func(string) policy.Kind { return policy.KindFile }
	in.Facts.Sensitive = func(string) string { return "" }
	in.Facts.Guarded = func(string, bool) string { return "" }
	f.Fuzz(func(t *testing.T, a, b, c string) {
		in := in
		in.Observations = []policy.Observation{
			{Axis: policy.AxisFs, Operation: "read", Target: "/home/u/proj/" + a, Tool: b},
			{Axis: policy.AxisFs, Operation: "create", Target: "/srv/data/" + a, Tool: c},
			{Axis: policy.AxisProcess, Operation: "exec", Target: "/opt/" + a, Arguments: []string{a, b, c}},
			{Axis: policy.AxisNet, Operation: "connect", Target: c, Scheme: b}, {Axis: policy.AxisNet, Operation: "resolve", Target: a, Tool: b},
			{Axis: policy.Axis(a), Operation: b, Target: c},
		}
		in.Variables.Granted, in.Stateless = []string{b}, Stateless{Able: len(a)%2 == 0, Why: c, Observations: in.Observations}
		text := string(Learn(in).TOML())
		if d, err := config.Decode([]byte(text), "learned.toml"); err != nil || len(d.Servers) != 1 || strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && show.IsHidden(c) }) {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}

// TestToolNames: a tool whose name cannot be written keeps the server stateful, and any other has its
// table.
func TestToolNames(t *testing.T) {
	for _, n := range hostileNames {
		h := newHost()
		in := h.input(t, policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: "/home/u/proj/README.md", Tool: n})
		in.Stateless = Stateless{Able: true, Observations: in.Observations}
		r := Learn(in)
		plain := utf8.ValidString(n) && len(n) <= 128 && n != config.AnyTool && !strings.ContainsFunc(n, show.IsHidden)
		if r.Stateful == plain {
			t.Errorf("%q: stateful %t", n, r.Stateful)
		}
		h.check(t, in, r)
	}
}

// TestManySensitivePaths: of many sensitive paths the first are named, and the others counted.
func TestManySensitivePaths(t *testing.T) {
	h := newHost()
	in := h.input(t)
	for i := range 30 {
		in.Observations = append(in.Observations, policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: fmt.Sprintf("/home/u/key%d", i)})
	}
	in.Facts.Sensitive = func(p string) string { return p }
	text := string(Learn(in).TOML())
	if n := strings.Count(text, "# Not granted, sensitive: "); n != maxLeft || !strings.Contains(text, "# Not granted: 24 more sensitive paths.") {
		t.Errorf("%d are named:\n%s", n, text)
	}
}
