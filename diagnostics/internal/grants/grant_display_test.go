package grants

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDisplay tests how a grant names a path: relative only to a workspace that is narrower than
// the home, since a client may start elsewhere the next time.
func TestDisplay(t *testing.T) {
	for _, c := range []struct{ workspace, path, want string }{
		{"/home/u/project", "/home/u/project/a/b", "a/b"},
		{"/home/u/project", "/home/u/other", "~/other"},
		{"/home/u", "/home/u/data/x", "~/data/x"},
		{"/home", "/home/u/data/x", "~/data/x"},
		{"/", "/srv/x", "/srv/x"},
		{"", "/home/u/data/x", "~/data/x"},
	} {
		w := Writer{UserHome: "/home/u", Profile: &policy.Profile{Workspace: c.workspace}}
		if got := w.Display(c.path); got != c.want {
			t.Errorf("%s in the workspace %q: %s, want %s", c.path, c.workspace, got, c.want)
		}
	}
}

// TestInsertionOfLimit: a table of limits may have the limit, and has others, so the line is set in it.
func TestInsertionOfLimit(t *testing.T) {
	n := Grant{Limit: "memory_mb", Value: 192}
	for want, taken := range map[string]Taken{
		"set `memory_mb = 192` in the table `limits` in line 4 of c.toml":         {Name: "limits", Line: 4, Open: true},
		"set `memory_mb = 192` in the table `limits` in line 5 of c.toml":         {Name: "limits", Line: 5},
		"add `limits = { memory_mb = 192 }` to the table `s` in line 6 of c.toml": {Name: "s", Line: 6, Rest: []string{"limits"}},
	} {
		if got := (Writer{Server: "s", Profile: &policy.Profile{}}).Insertion(n, taken, "c.toml"); got != want {
			t.Errorf("%+v: %s, want %s", taken, got, want)
		}
	}
}
