package policy

import (
	"fmt"
	"strings"
	"testing"
)

func TestRootsIn(t *testing.T) {
	p := &Profile{Entries: []Entry{
		{Path: "/a", Kind: KindDir, Rights: Read, Origin: OriginRule},
		{Path: "/a/in", Kind: KindDir, Rights: Read | Update, Origin: OriginRule},
		{Path: "/a/off", Kind: KindDir, Origin: OriginRule},
		{Path: "/a/off/on", Kind: KindDir, Rights: Read, Origin: OriginRule},
		{Path: "/ab", Kind: KindDir, Rights: Read, Origin: OriginRule},
		{Path: "/b", Kind: KindFile, Rights: Read, Origin: OriginRule},
		{Path: "/home", Kind: KindDir, Rights: Read, Origin: OriginHome},
		{Path: "/usr", Kind: KindDir, Rights: Read | Execute, Origin: OriginBaseline},
		{Path: "/w", Kind: KindDir, Rights: Write, Origin: OriginRule},
	}}
	for dir, want := range map[string]string{"/": "[/a /a/off/on /ab]", "/a": "[/a /a/off/on]", "/a/off": "[/a/off/on]", "/w": "[]"} {
		if got := fmt.Sprint(p.RootsIn(dir)); got != want {
			t.Errorf("in %s: %s, want %s", dir, got, want)
		}
	}
}

// TestStatementNames tests that a statement names commands and variables, without values.
func TestStatementNames(t *testing.T) {
	p := &Profile{
		Programs: []string{"/lib/ld.so", "/usr/bin/git"}, Loaders: []string{"/lib/ld.so"},
		Env: []Variable{{Name: "HOME", Value: "/home/u"}, {Name: StatementVar, Value: "{}", Rule: OwnVariable + "this"}, {Name: "TOKEN", Value: "s3cret", Secret: true}},
	}
	s := NewStatement(p)
	if got := fmt.Sprint(s.Commands, s.Variables); got != "[{/usr/bin/git [] <nil>}] [TOKEN]" {
		t.Error(got)
	}
	if text := string(p.Statement()); strings.Contains(text, "s3cret") {
		t.Error(text)
	}
	for programs, want := range map[string]string{"any": `"commands":null`, "none": `"commands":[]`} {
		p := &Profile{}
		if programs == "none" {
			p.Programs = []string{}
		}
		if text := string(p.Statement()); !strings.Contains(text, want) || !strings.Contains(text, `"variables":[]`) {
			t.Errorf("%s: %s", programs, text)
		}
	}
	p.Commands = []Command{{Name: "git", Args: [][]string{{"status", "**"}}, OnlyEnvs: true}}
	if text, want := string(p.Statement()), `"commands":[{"name":"git","args":[["status","**"]],"envs":[]}]`; !strings.Contains(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
	long := &Profile{}
	for i := range 2000 {
		long.Programs = append(long.Programs, fmt.Sprintf("/usr/bin/program-%d", i))
	}
	if s := NewStatement(long); !s.Truncated || len(s.Encode()) > MaxStatement {
		t.Errorf("%v, %d bytes", s.Truncated, len(s.Encode()))
	}
}
