package grantcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPath: a path that a person typed is written so that each directory reads it alike.
func TestPath(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"proj/sub", "real/inner"} {
		testkit.Must(t, os.MkdirAll(filepath.Join(home, dir), 0o755))
	}
	testkit.Must(t, os.Symlink("real/inner", filepath.Join(home, "link")))
	p := person{home: home, dir: filepath.Join(home, "proj")}
	for typed, want := range map[string]string{
		"a": "~/proj/a", "./a/": "~/proj/a/", ".": "~/proj", "..": "~/", "../x": "~/x", "../../y": filepath.Join(filepath.Dir(home), "y"),
		"~": "~/", "~/": "~/", "~/a b": "~/a b", "~/a//b/": "~/a/b/", "/": "/", "/etc/": "/etc/", "/srv/./x": "/srv/x",
		home: "~/", home + "/n": "~/n", home + "x": home + "x", "-x": "~/proj/-x", "~bob": "~/proj/~bob",
		"../link/f": "~/link/f",
	} {
		got, err := p.path(typed)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", typed, got, err, want)
		}
		if whole := p.absolute(want); err == nil && !filepath.IsAbs(whole) {
			t.Errorf("%q: %q is not absolute", typed, whole)
		}
	}
	if got, err := p.path("../link/../x"); err == nil {
		t.Errorf("a path that can be read in two ways: %q", got)
	}
	if path, err := (person{home: "/", dir: "/d"}).path("/a"); err != nil || path != "/a" {
		t.Errorf("with the home /: %q, %v", path, err)
	}
}

// TestPathOfWindows: drives, backslashes and ~\ on Windows, where names have no case.
func TestPathOfWindows(t *testing.T) {
	p := person{system: "windows", home: `C:\Users\U`, dir: `C:\Users\U\proj`}
	for typed, want := range map[string]string{
		"a": `C:\Users\U\proj\a`, `.\a\`: `C:\Users\U\proj\a\`, ".": `C:\Users\U\proj`, "..": `C:\Users\U`, `..\..\y`: `C:\Users\y`,
		"~": `C:\Users\U`, `~\a b\c`: `C:\Users\U\a b\c`, "~/a/": `C:\Users\U\a\`, `c:\users\u\N`: `C:\users\u\N`,
		`D:\x\`: `D:\x\`, "d:/x/./y": `D:\x\y`, `C:\`: `C:\`, `\srv\x`: `C:\srv\x`, "/srv/x": `C:\srv\x`,
		`\\server\share`: "", `C:x`: "", `D:\PROGRA~1`: "", `%USERPROFILE%\x`: "", `D:\x:s`: "", "~bob": `C:\Users\U\proj\~bob`,
	} {
		got, err := p.path(typed)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", typed, got, err, want)
		}
		if err == nil {
			again, err := p.path(p.absolute(got))
			if err != nil || strings.TrimRight(again, `\/`) != strings.TrimRight(got, `\/`) {
				t.Errorf("%q is whole as %q, and that is %q, %v", got, p.absolute(got), again, err)
			}
		}
	}
	for _, home := range []string{`C:\`, ""} {
		if got, err := (person{system: "windows", home: home, dir: `C:\d`}).path("a"); got != `C:\d\a` || err != nil {
			t.Errorf("the home %q: %q, %v", home, got, err)
		}
	}
}

// TestLackedIn: what the failures of a session lacked, how certain that is, and what is left out.
func TestLackedIn(t *testing.T) {
	hint := func(by diagnostics.Attribution, warning string, words ...string) diagnostics.Hint {
		return diagnostics.Hint{Attribution: by, Words: words, Warning: warning, Cause: "because"}
	}
	const certain, likely, possible = diagnostics.Certain, diagnostics.Likely, diagnostics.Possible
	for _, c := range []struct {
		name string
		all  []diagnostics.Diagnosis
		want []string
		none []string
	}{
		{"each flag has its own certainty", []diagnostics.Diagnosis{
			{Words: []string{"--read", "~/a", "--net", "b"}, Hints: []diagnostics.Hint{hint(likely, "", "--read", "~/a"), hint(certain, "", "--net", "b")}},
		}, []string{"--read ~/a likely ", "--net b certain "}, nil},
		{"a hint that the failure does not need is left out", []diagnostics.Diagnosis{
			{Words: []string{"--read", "~/a"}, Hints: []diagnostics.Hint{hint(certain, "", "--read", "~/a"), hint(certain, "", "--net", "b")}},
		}, []string{"--read ~/a certain "}, nil},
		{"a flag without a hint is not certain", []diagnostics.Diagnosis{
			{Words: []string{"--write", "~/a"}, Hints: []diagnostics.Hint{hint(certain, "", "--read", "~/a")}},
		}, []string{"--write ~/a possible "}, nil},
		{"twice: the certain one counts, unless it has a warning", []diagnostics.Diagnosis{
			{Words: []string{"--read", "~/a"}, Hints: []diagnostics.Hint{hint(likely, "", "--read", "~/a")}},
			{Words: []string{"--read", "~/a"}, Hints: []diagnostics.Hint{hint(certain, "", "--read", "~/a")}},
			{Words: []string{"--read", "~/s"}, Hints: []diagnostics.Hint{hint(likely, "", "--read", "~/s")}},
			{Words: []string{"--read", "~/s"}, Hints: []diagnostics.Hint{hint(certain, "keys", "--read", "~/s")}},
		}, []string{"--read ~/a certain ", "--read ~/s likely "}, nil},
		{"a certain one stays", []diagnostics.Diagnosis{
			{Words: []string{"--read", "~/a"}, Hints: []diagnostics.Hint{hint(certain, "", "--read", "~/a")}},
			{Words: []string{"--read", "~/a"}, Hints: []diagnostics.Hint{hint(likely, "", "--read", "~/a")}},
		}, []string{"--read ~/a certain "}, nil},
		{"the workspace, where it was lacked", []diagnostics.Diagnosis{
			{Words: []string{"--write", ".", "--read", "~/a"}, Hints: []diagnostics.Hint{hint(certain, "", "--write", "."), hint(certain, "", "--read", "~/a")}},
		}, []string{"--write . certain ", "--read ~/a certain "}, nil},
		{"what no flag grants is named", []diagnostics.Diagnosis{
			{Hints: []diagnostics.Hint{{Attribution: certain, Axis: policy.AxisProcess, Target: "git"}}},
		}, nil, []string{`"git"`}},
		{"a failure without a remedy", []diagnostics.Diagnosis{{What: "it failed"}}, nil, nil},
	} {
		items, none := lackedIn(diagnostics.Record{Diagnoses: c.all})
		var got []string
		for _, l := range items {
			got = append(got, fmt.Sprintf("%s %s %s", strings.Join(l.Words(), " "), l.by, l.warning))
		}
		if !slices.Equal(got, c.want) || !slices.Equal(none, c.none) {
			t.Errorf("%s: %q %q, want %q %q", c.name, got, none, c.want, c.none)
		}
	}
}
