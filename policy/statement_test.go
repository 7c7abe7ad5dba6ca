package policy

import (
	"fmt"
	"strings"
	"testing"
)

// TestStatementNames tests that a statement names commands and variables, without values.
func TestStatementNames(t *testing.T) {
	p := &Profile{
		Programs: []string{"/lib/ld.so", "/usr/bin/git"}, Loaders: []string{"/lib/ld.so"},
		Env: []Variable{{Name: "HOME", Value: "/home/u"}, {Name: StatementVar, Value: "{}", Rule: OwnVariable + "this"}, {Name: "TOKEN", Value: "s3cret", Secret: true}},
	}
	s := NewStatement(p)
	if got := fmt.Sprint(s.Commands, s.Variables); got != "[{/usr/bin/git [] []}] [TOKEN]" {
		t.Error(got)
	}
	if text := string(NewStatement(p).Encode()); strings.Contains(text, "s3cret") {
		t.Error(text)
	}
	for programs, want := range map[string]string{"any": `"commands":null`, "none": `"commands":[]`} {
		p := &Profile{}
		if programs == "none" {
			p.Programs = []string{}
		}
		if text := string(NewStatement(p).Encode()); !strings.Contains(text, want) || !strings.Contains(text, `"variables":[]`) {
			t.Errorf("%s: %s", programs, text)
		}
	}
	p.Commands = []Command{{Name: "git", Args: [][]string{{"status", "**"}}, Envs: []string{}}}
	if text, want := string(NewStatement(p).Encode()), `"commands":[{"name":"git","args":[["status","**"]],"envs":[]}]`; !strings.Contains(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
	long := &Profile{}
	for i := range 2000 {
		long.Programs = append(long.Programs, fmt.Sprintf("/usr/bin/program-%d", i))
	}
	if s := NewStatement(long); !s.Truncated || len(s.Encode()) > MaxBytes {
		t.Errorf("%v, %d bytes", s.Truncated, len(s.Encode()))
	}
}
