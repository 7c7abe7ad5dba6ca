package diagnostics

import (
	"strings"
	"testing"
)

// TestTildes: a "~" in an argument reaches the server as it is written, and the warning says so.
func TestTildes(t *testing.T) {
	for _, tt := range []struct {
		args []string
		real bool
		want string
	}{
		{[]string{"~/docs", "x~", "~u", "a/~/b"}, false, `the server gets "~/docs" as it is written; a server that replaces it itself finds its private HOME; write '/home/u/docs' (mcp-jail`},
		{[]string{"--dir=~/a b", "~"}, true, `the server gets "~/a b", "~" as it is written; write '/home/u/a b', '/home/u' (mcp-jail`},
		{[]string{"/home/u/docs", "-~/x"}, false, ""},
	} {
		ev := evidence("")
		ev.Profile.Argv = append([]string{"node"}, tt.args...)
		ev.Profile.HomePrivate = !tt.real
		if got := Tildes(ev); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s", tt.args, got)
		}
	}
}

// TestTildeDiagnosis: a server that fails because of a "~" in an argument gets the explanation of
// the warning. No rule alone would help.
func TestTildeDiagnosis(t *testing.T) {
	const got = `~ is not replaced in arguments: the server gets "~/docs" as it is written`
	for _, tt := range []struct{ name, arg, text, cause, fix string }{
		{"as it is written", "~/docs", "ENOENT: no such file or directory, open '~/docs/x'", `the server's message names "~/docs/x": ` + got, "write '/home/u/docs', and grant that"},
		{"the directory itself", "~/docs/", "ENOENT: no such file or directory, scandir '~/docs'", `the server's message names "~/docs": ~ is not`, "write '/home/u/docs/', and grant that"},
		{"granted", "~/work/src", "ENOENT: no such file or directory, open '~/work/src/x'", `the server's message names "~/work/src/x": ~ is not`, "write '/home/u/work/src'"},
		{"keys", "~/.ssh", "ENOENT: no such file or directory, open '~/.ssh/id'", `the server's message names "~/.ssh/id": ~ is not`, "write '/home/u/.ssh'"},
		{"all of the home", "~", "ENOENT: no such file or directory, open '~/x'", `the server's message names "~/x": ~ is not`, "write '/home/u'"},
		{"no name", "~/docs", "usage: notes DIR", got, "write '/home/u/docs'"},
	} {
		ev := evidence("")
		ev.Stage, ev.Exit, ev.Stderr = StageStartup, &Exit{Code: 1}, []string{tt.text}
		ev.FromCommandLine = true
		ev.Profile.Argv = []string{"node", "s.js", tt.arg}
		d := Diagnose(ev)
		if !strings.Contains(d.Cause, tt.cause) || advised(d) != tt.fix || d.Explain != PagePathArg || d.Words != nil || strings.Contains(string(d.ErrorData()), `"hint":""`) {
			t.Errorf("%s: %s", tt.name, d.Text())
		}
		ev.Profile.Argv = []string{"node", "s.js", "/home/u/docs"}
		if d := Diagnose(ev); strings.Contains(told(d), "is not replaced") {
			t.Errorf("%s: without ~: %s", tt.name, d.Text())
		}
	}
	// A server that replaces it itself looks in its private HOME, where a grant shows the directory.
	ev := evidence("")
	ev.Stage, ev.Exit, ev.Stderr = StageStartup, &Exit{Code: 1}, []string{"ENOENT: no such file or directory, open '/home/u/.local/state/mcp-jail/homes/github/docs/x'"}
	ev.FromCommandLine = true
	ev.Profile.Argv = []string{"node", "s.js", "--dir=~/docs"}
	if d := Diagnose(ev); d.Attribution != Likely || strings.Join(d.Words, " ") != "--read ~/docs" || !strings.Contains(d.Cause, "its private HOME") {
		t.Errorf("%s", d.Text())
	}
	// For another name below "~", which no argument has, "~" is the home of the user.
	ev = evidence("ENOENT: no such file or directory, open '~/notes/a.md'")
	ev.Profile.Argv = []string{"node", "s.js", "~/note"}
	if d := Diagnose(ev); strings.Contains(told(d), "is not replaced") || len(d.Hints) == 0 || d.Hints[0].Target != "/home/u/notes/a.md" {
		t.Errorf("%s", d.Text())
	}
}
