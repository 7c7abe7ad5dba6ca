package change

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestWords: words and objects are two forms of the same.
func TestWords(t *testing.T) {
	for words, want := range map[string]Object{
		"--read /a":                      Path("/a", policy.Read),
		"--write ~/a/":                   Path("~/a/", policy.Read|policy.Write),
		"--execute a":                    Path("a", policy.Read|policy.Execute),
		"--deny /a":                      {Fs: policy.FsRule{Path: "/a", Deny: policy.AllRights}},
		"--net a.test":                   {Net: policy.NetRule{Host: "a.test", Allow: true}},
		"--net [::1]:80":                 {Net: policy.NetRule{Host: "::1", Port: 80, Allow: true}},
		"--env A*":                       {Env: "A*"},
		"--read=-a":                      Path("-a", policy.Read),
		"--inbound 80":                   {Inbound: 80},
		"--workspace none":               {Setting: Setting{"workspace", "none"}},
		"--preset git":                   {Setting: Setting{"preset", "git"}},
		"--limit memory_mb=1":            {Setting: Setting{"memory_mb", "1"}},
		"--limit startup_timeout_secs=3": {Setting: Setting{"startup_timeout_secs", "3"}},
		"--read":                         {},
		"--net https://a.test":           {},
		"--inbound x":                    {},
		"--per-call 1":                   {},
	} {
		got, err := Read(strings.Fields(words))
		switch {
		case want.IsZero():
			if err == nil {
				t.Errorf("%s: %+v, no error", words, got)
			}
		case err != nil || len(got) != 1 || !got[0].Same(want) || !slices.Equal(got[0].Words(), strings.Fields(words)):
			t.Errorf("%s: %+v, %v", words, got, err)
		}
	}
	if words := Path("/a", policy.AllRights).Words(); strings.Join(words, " ") != "--write /a --execute /a" {
		t.Errorf("all rights: %q", words)
	}
	if words := (Object{Program: "git"}).Words(); words != nil {
		t.Errorf("a program: %q", words)
	}
}

// TestMerge: objects for one path are one, and each is there once.
func TestMerge(t *testing.T) {
	deny := Object{Fs: policy.FsRule{Path: "/a", Deny: policy.AllRights}}
	got := Merge([]Object{Path("/a", policy.Read), {Env: "X"}, Path("/a/", policy.Write), {}, {Env: "X"}, deny, Path("/b", policy.Read)})
	want := []Object{Path("/a/", policy.Read|policy.Write), {Env: "X"}, deny, Path("/b", policy.Read)}
	if !slices.EqualFunc(got, want, Object.Same) {
		t.Errorf("%+v", got)
	}
}
