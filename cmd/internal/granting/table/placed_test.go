package table

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRulesOfWindows: a rule around a path gives it rights on Windows as elsewhere, and none to what is protected.
func TestRulesOfWindows(t *testing.T) {
	c := Change{System: "windows", Home: `C:\Users\U`, Workspace: `C:\Users\U\proj`}
	for _, p := range []string{`~\proj\A`, "~/proj/a", "a", `c:/users/u/proj/a`, `C:\Users\U\PROJ\a`} {
		if got := c.placed(p); got != "/c:/users/u/proj/a" || c.native(got) != `c:\users\u\proj\a` {
			t.Errorf("%s: %s, %s", p, got, c.native(got))
		}
	}
	was := &policy.Policy{Fs: []policy.FsRule{{Path: ".", Read: true, Create: true, Update: true, Delete: true}, {Path: `~\proj\sub`}}}
	w := &work{Change: c, was: was}
	for p, want := range map[string]policy.Rights{
		`a\b`: policy.Read | policy.Write, `a\.vscode\x`: policy.Read, `C:\Users\U\proj\.ENVRC`: policy.Read, `sub\x`: 0, `D:\x`: 0, "~": 0,
	} {
		if got, _ := w.around(p); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
	rules := w.rules(was)
	if got := rules.RightsAt(c.placed(`PROJ2\..\a`)); got != policy.Read|policy.Write {
		t.Errorf("%s", got)
	}
}
