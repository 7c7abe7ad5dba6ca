package grantcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
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

// wordsOf returns what words of mcp-jail grant name.
func wordsOf(words []string) []change.Object {
	objects, err := change.Read(words)
	if err != nil {
		panic(err)
	}
	return objects
}

// TestLackedIn: what the failures of a session lacked, each once, and the one that may be granted most easily.
func TestLackedIn(t *testing.T) {
	hint := func(from change.Source, flag, path string) diagnostics.Hint {
		return diagnostics.Hint{Proposal: change.Judge(change.Want{Source: from, Object: wordsOf([]string{flag, path})[0]}, nil, nil)}
	}
	const said, recorded = change.Said, change.Recorded
	for _, c := range []struct {
		name string
		all  [][]diagnostics.Hint
		want []string
	}{
		{"each has its own source", [][]diagnostics.Hint{{hint(said, "--read", "~/a"), hint(recorded, "--net", "b")}}, []string{"--read ~/a 0", "--net b 1"}},
		{"twice: the recorded one counts", [][]diagnostics.Hint{{hint(said, "--read", "~/a")}, {hint(recorded, "--read", "~/a")}}, []string{"--read ~/a 1"}},
		{"a recorded one stays", [][]diagnostics.Hint{{hint(recorded, "--read", "~/a")}, {hint(said, "--read", "~/a")}}, []string{"--read ~/a 1"}},
		{"a failure without a remedy", [][]diagnostics.Hint{nil, {{Target: "git"}}}, nil},
	} {
		var r diagnostics.Record
		for _, hints := range c.all {
			r.Diagnoses = append(r.Diagnoses, diagnostics.Diagnosis{Hints: hints})
		}
		var got []string
		for _, l := range lackedIn(r) {
			got = append(got, fmt.Sprintf("%s %d", strings.Join(l.Object.Words(), " "), l.Source))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
