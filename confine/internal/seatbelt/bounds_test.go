package seatbelt_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// oddNames are names that could end a string, begin a list or a comment, or stand for other names.
var oddNames = []string{`x"))(allow file-write*`, `x\"`, "*", "**", "?[a-z]", "#", `#"`, "x;y", "(x)", "'x", "$HOME", "~", "%s", "\u00e4\u00f6", "a\u0308", "\u202e", "\U0001f512", `\x41`, " ", "x)(deny"}

// TestOddPathsChangeNoOtherLine renames directories of random profiles: the text of the odd names says of each
// path what that of the plain names says of the path with the plain name.
func TestOddPathsChangeNoOtherLine(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(0, 10))}
	asked := 0
	for range testkit.Rounds(100, 1000) {
		p := g.profile()
		p.Unprotected, p.GitDirs, p.IgnoreCase, p.ListOnly, p.Programs = nil, nil, nil, nil, nil
		odd, plain := oddNames[g.IntN(len(oddNames))], words[g.IntN(5)]
		rename := func(s string) string {
			parts := strings.Split(s, "/")
			for i, part := range parts {
				if part == plain {
					parts[i] = odd
				}
			}
			return strings.Join(parts, "/")
		}
		renamed := &policy.Profile{Entries: slices.Clone(p.Entries)}
		for i := range renamed.Entries {
			renamed.Entries[i].Path = rename(renamed.Entries[i].Path)
		}
		slices.SortFunc(renamed.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
		before, after := compiled(t, p), compiled(t, renamed)
		for range 40 {
			name := g.question(p)
			for _, q := range questions {
				if rename(name) != name {
					asked++
				}
				if got := seatbelttest.Allowed(after, q.as, rename(name), ""); got != seatbelttest.Allowed(before, q.as, name, "") {
					t.Fatalf("%q for %s: %s %s: %v\n%s", odd, plain, q.as, name, got, dump(p))
				}
			}
		}
	}
	if asked < 1000 {
		t.Errorf("only %d questions about renamed paths", asked)
	}
}

var quotedText = regexp.MustCompile(`"[^"]*"`)

// manyEntries returns a profile with 200 entries that write.
func manyEntries() *policy.Profile {
	p := &policy.Profile{}
	for i := range 200 {
		e := policy.Entry{Path: fmt.Sprintf("/Users/someone/Documents/project-%03d/packages/application", i), Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule}
		if i%4 == 3 {
			e.Path, e.Rights = p.Entries[len(p.Entries)-1].Path+"/secrets", 0
		}
		p.Entries = append(p.Entries, e)
	}
	for _, name := range policy.ProtectedPaths() {
		p.Unprotected = append(p.Unprotected, p.Entries[0].Path+"/"+name)
	}
	slices.Sort(p.Unprotected)
	return p
}

// TestSizeOfTexts holds how large a text becomes with 200 entries, each of which writes.
func TestSizeOfTexts(t *testing.T) {
	p := manyEntries()
	text := testkit.Get(seatbelt.Compile(seatbelt.Input{Profile: p, Self: "/opt/mcp-jail"}))(t)
	if len(text.Profile) > 400_000 || strings.Count(text.Profile, "(regex") > 300 {
		t.Errorf("%d bytes, %d expressions", len(text.Profile), strings.Count(text.Profile, "(regex"))
	}
	for _, s := range quotedText.FindAllString(text.Profile, -1) {
		if len(s) > 902 {
			t.Errorf("a string of %d bytes", len(s))
		}
	}
}

func TestPathsThatNoTextCanName(t *testing.T) {
	for _, c := range []struct{ path, why string }{
		{"/w/a\nb", "control character"}, {"/w/a\x7f", "control character"}, {"/w/\xff", "UTF-8"}, {"w", "absolute"}, {"/w//a", "slashes"},
	} {
		for name, p := range map[string]*policy.Profile{
			"entry":       {Entries: []policy.Entry{{Path: c.path, Kind: policy.KindDir, Rights: policy.Read}}},
			"unprotected": {Unprotected: []string{c.path}},
			"git dir":     {GitDirs: []string{c.path}},
			"link":        {Links: []policy.Link{{Path: c.path, Target: "/x"}}},
			"program":     {Programs: []string{c.path}},
		} {
			_, err := seatbelt.Compile(seatbelt.Input{Profile: p, Self: "/opt/mcp-jail"})
			var bad *seatbelt.PathError
			if !errors.As(err, &bad) || bad.Path != c.path || !strings.Contains(bad.Why, c.why) {
				t.Errorf("%s %q: %v", name, c.path, err)
			}
		}
		if _, err := seatbelt.Compile(seatbelt.Input{Profile: &policy.Profile{}, Self: c.path}); err == nil {
			t.Errorf("program of its own %q: no error", c.path)
		}
	}
}

func TestPathsByParameter(t *testing.T) {
	for _, path := range []string{"/w/\u00dcbung", "/w/U\u0308bung", `/w/o"k`, `/w/back\slash`, "/w/" + strings.Repeat("long/", 190) + "x"} {
		p := &policy.Profile{Entries: []policy.Entry{{Path: path, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule}}}
		text, err := seatbelt.Compile(seatbelt.Input{Profile: p, Self: "/opt/mcp-jail"})
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		if !slices.Contains(text.Params, "P0="+path) && !slices.Contains(text.Params, "P1="+path) {
			t.Errorf("%q is not among the parameters %q", path, text.Params)
		}
		rules := testkit.Get(seatbelttest.Read(text.Profile, text.Params))(t)
		if !seatbelttest.Allowed(rules, "file-write-create", path+"/a", "") || seatbelttest.Allowed(rules, "file-write-create", path+"b/a", "") || seatbelttest.Allowed(rules, "file-write-create", path+"/.vscode", "") {
			t.Errorf("%q: the text says something else", path)
		}
	}
}
