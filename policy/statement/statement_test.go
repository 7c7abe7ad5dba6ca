package statement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStatementNames tests that a statement names commands and variables, without values.
func TestStatementNames(t *testing.T) {
	p := &policy.Profile{
		Programs: []string{"/lib/ld.so", "/usr/bin/git"}, Loaders: []string{"/lib/ld.so"},
		Env: []policy.Variable{{Name: "HOME", Value: "/home/u"}, {Name: policy.StatementVar, Value: "{}", Rule: policy.OwnVariable + "this"}, {Name: "TOKEN", Value: "s3cret", Secret: true}},
	}
	s := New(p)
	if got := fmt.Sprint(s.Commands, s.Variables); got != "[{/usr/bin/git [] []}] [TOKEN]" {
		t.Error(got)
	}
	if text := string(New(p).Encode()); strings.Contains(text, "s3cret") {
		t.Error(text)
	}
	for programs, want := range map[string]string{"any": `"commands":null`, "none": `"commands":[]`} {
		p := &policy.Profile{}
		if programs == "none" {
			p.Programs = []string{}
		}
		if text := string(New(p).Encode()); !strings.Contains(text, want) || !strings.Contains(text, `"variables":[]`) {
			t.Errorf("%s: %s", programs, text)
		}
	}
	p.Commands = []policy.Command{{Name: "git", Args: [][]string{{"status", "**"}}, Envs: []string{}}}
	if text, want := string(New(p).Encode()), `"commands":[{"name":"git","args":[["status","**"]],"envs":[]}]`; !strings.Contains(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
	long := &policy.Profile{}
	for i := range 2000 {
		long.Programs = append(long.Programs, fmt.Sprintf("/usr/bin/program-%d", i))
	}
	if s := New(long); !s.Truncated || len(s.Encode()) > MaxBytes {
		t.Errorf("%v, %d bytes", s.Truncated, len(s.Encode()))
	}
}
