package learn

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestNoWorkspace: where the workspace is the home directory, or there is none, nothing in the home
// directory counts as the server's own work.
func TestNoWorkspace(t *testing.T) {
	h := newHost()
	for _, workspace := range []string{"workspace = \"~\"\n", "workspace = \"/home\"\n", "workspace = \"/\"\n"} {
		with := func(text string) string {
			return strings.Replace(text, "command = \"server\"\n", "command = \"server\"\n"+workspace, 1)
		}
		in := h.input(t, seen(`start list /home/u
start write /home/u/.profile
start create /home/u/new.txt
start read /home/u/proj/README.md
start list /home/u/proj/src
start list /home/u/.config
start create /home/u/.config/new/x
start read /home/u/one.txt
start read /home/u/two.txt
start read /home/u/three.txt
start write /home/u/notes/a.md`)...)
		in.Bare = h.profile(t, with(bare), "")
		r := Learn(in)
		profile := h.profile(t, with(string(r.TOML())), "")
		h.checkNothingSensitive(t, map[string]*policy.Profile{"": profile}, string(r.TOML()))
		want := []Reason{Wide, Protected, Home, "", "", Wide, Home, "", "", "", ""}
		for i, o := range in.Observations {
			if got := r.Leaves(o); got != want[i] {
				t.Errorf("%s: %s %s: %q, not %q", workspace, o.Operation, o.Target, got, want[i])
			} else if got == "" && Judge(profile, o).Verdict != Allowed {
				t.Errorf("%s: %s %s was learned, and is refused:\n%s", workspace, o.Operation, o.Target, r.TOML())
			}
		}
	}
}

// TestRealHome: a server whose HOME is the user's has no other one for its caches.
func TestRealHome(t *testing.T) {
	h := newHost("/home/u/.cache/app/")
	in := h.input(t, seen("start create /home/u/.cache/app/x\nstart create /home/u/.new\nstart read /home/u/.config/app/settings.json")...)
	in.Bare = h.profile(t, strings.Replace(bare, "command", "home = \"real\"\ncommand", 1), "")
	r := Learn(in)
	for i, want := range []Reason{"", Wide, ""} {
		if got := r.Leaves(in.Observations[i]); got != want {
			t.Errorf("%s: %q, not %q", in.Observations[i].Target, got, want)
		}
	}
}

// TestSubcommands: the subcommands of a program are bounded, and those beyond the bound are said.
func TestSubcommands(t *testing.T) {
	text := ""
	for i := range 12 {
		text += fmt.Sprintf("start exec /usr/bin/git git sub-%c\n", 'a'+i)
	}
	h := newHost()
	in := h.input(t, seen(text)...)
	r := Learn(in)
	if n := len(r.Rules()[0].Command.Args); n != maxLists || r.Leaves(in.Observations[0]) != Capped || r.Capped()[policy.AxisFs] != 1 {
		t.Errorf("%d lists:\n%s", n, r.TOML())
	}
}

// TestWide: a directory that holds more than the server's work is not granted for files in it. One that
// holds a sensitive path is such a directory.
func TestWide(t *testing.T) {
	h := newHost("/home/u/work/a /home/u/work/b /home/u/work/c /home/u/work/deep/.env /home/other/a /home/other/b")
	in := h.input(t, seen("start read /home/u/work/a\nstart read /home/u/work/b\nstart read /home/u/work/c\nstart read /home/other/a\nstart read /home/other/b\nstart read /home/other/secret.txt\nstart list /home/other")...)
	paths := func() (paths []string) {
		for _, r := range Learn(in).Rules() {
			paths = append(paths, r.Fs.Path)
		}
		return paths
	}
	others := []string{"/home/other/a", "/home/other/b", "/home/other/secret.txt"}
	if got, want := paths(), append(slices.Clone(others), "~/work/a", "~/work/b", "~/work/c"); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	in.Learning = nil
	if got, want := paths(), append(slices.Clone(others), "~/work"); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestSingles: files in a directory that is too wide are named one by one up to a bound, which leaves
// room for others.
func TestSingles(t *testing.T) {
	words, text := []string{}, ""
	for i := range 30 {
		words = append(words, fmt.Sprintf("/home/u/file%02d", i))
		text += fmt.Sprintf("start read /home/u/file%02d\n", i)
	}
	h := newHost(words...)
	in := h.input(t, seen(text+"start read /srv/data/one.csv\n")...)
	r := Learn(in)
	if n := len(r.Rules()); n != maxSingles+1 || r.Leaves(in.Observations[29]) != Capped || r.Leaves(in.Observations[30]) != "" {
		t.Errorf("%d rules:\n%s", n, r.TOML())
	}
	if want := "Left out, because the policy would be longer than a page: ~/file08, ~/file09, ~/file10, ~/file11 and 18 more."; !strings.Contains(string(r.TOML()), want) {
		t.Errorf("%s\nlacks %s", r.TOML(), want)
	}
}

// TestKept: no rule is made for moving a directory that holds what keeps its place, because no rule
// would let the server do it.
func TestKept(t *testing.T) {
	h := newHost("/home/u/proj/conf/.env /home/u/proj/free/x")
	in := h.input(t, seen("start remove /home/u/proj/.git\nstart remove /home/u/proj/conf\nstart remove /home/u/proj/free\nstart mkdir /home/u/proj/.git\nstart create /home/u/proj/.github/workflows/ci.yml")...)
	r := Learn(in)
	for i, want := range []Reason{Protected, Protected, "", "", Protected} {
		if got := r.Leaves(in.Observations[i]); got != want {
			t.Errorf("%s %s: %q, not %q", in.Observations[i].Operation, in.Observations[i].Target, got, want)
		}
	}
}

// TestLinkedHome: a home directory that is named by a link is not granted under its own name.
func TestLinkedHome(t *testing.T) {
	h := newHost()
	in := h.input(t, seen("start list /home/u\nstart list /home/u/.config\nstart list /home/u/notes")...)
	in.Home, in.Learning = "/users/u", nil
	for i, want := range []Reason{Wide, Wide, ""} {
		if got := Learn(in).Leaves(in.Observations[i]); got != want {
			t.Errorf("%s: %q, not %q", in.Observations[i].Target, got, want)
		}
	}
}

// TestWritten: the path of a rule leads to the path that was observed, whatever it begins with.
func TestWritten(t *testing.T) {
	for p, want := range map[string]string{
		"/home/u/proj/~x": "./~x", "/home/u/proj/$HOME/x": "./$HOME/x", "/home/u/proj/a b": "a b", "/home/u/~x": "~/~x", "/srv/data/é": "/srv/data/é", "/home/u2/x": "/home/u2/x",
	} {
		h := newHost()
		h["/home/u/proj/$HOME"] = aFile{mode: fs.ModeDir | 0o755}
		h["/home/u2"] = aFile{mode: fs.ModeDir | 0o755}
		h[p] = aFile{mode: 0o644}
		in := h.input(t, policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: p})
		r := Learn(in)
		if rules := r.Rules(); len(rules) != 1 || rules[0].Fs.Path != want {
			t.Errorf("%s:\n%s", p, r.TOML())
		}
		h.check(t, in, r)
	}
}
