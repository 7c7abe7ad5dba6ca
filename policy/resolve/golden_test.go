package resolve

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// printProfile writes one fact a line, so that changes of a golden file can be reviewed.
func printProfile(p *policy.Profile) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("program %s %q in %s", p.Program, p.Argv, p.Dir)
	line("workspace %q home %s private %t default %t", p.Workspace, p.Home, p.HomePrivate, p.Default)
	for _, e := range p.Entries {
		flags := ""
		if e.Make {
			flags = " make"
		}
		if e.Ephemeral {
			flags += " ephemeral"
		}
		line("fs %s (%s%s) %s: %s [%s]", e.Path, e.Kind, flags, e.Rights, e.Origin, e.Rule)
	}
	for _, l := range p.Links {
		line("link %s -> %s", l.Path, l.Target)
	}
	line("unprotected %q", p.Unprotected)
	line("programs %q loaders %q args %q", p.Programs, p.Loaders, p.CommandArgs)
	for _, c := range p.Commands {
		line("command %+v", c)
	}
	if p.OwnPrograms != nil {
		line("own programs %q", p.OwnPrograms)
	}
	for _, r := range p.Net {
		line("net %+v", r)
	}
	for _, v := range p.Env {
		line("env %s=%s secret %t [%s]", v.Name, v.Value, v.Secret, v.Rule)
	}
	line("withheld %q", p.Withheld)
	line("limits %+v waive %v startup %v call %v roots %s", p.Limits, p.Waive, p.Startup, p.Call, p.Roots)
	return b.String()
}

// checkProfile checks the invariants that Resolve promises for every profile.
func checkProfile(t *testing.T, p *policy.Profile) {
	t.Helper()
	for i, e := range p.Entries {
		if !filepath.IsAbs(e.Path) || filepath.Clean(e.Path) != e.Path {
			t.Errorf("entry %q is not clean", e.Path)
		}
		if i > 0 && p.Entries[i-1].Path >= e.Path {
			t.Errorf("entries %q and %q are out of order", p.Entries[i-1].Path, e.Path)
		}
		if e.Rule == "" || e.Origin == 0 || e.Kind == 0 {
			t.Errorf("entry %+v is incomplete", e)
		}
		if e.Make != (e.ID == policy.FileID{}) {
			t.Errorf("entry %+v: the ID is zero exactly where Make is set", e)
		}
	}
	if err := policy.FindConflict(p.Entries); err != nil {
		t.Error(err)
	}
	for _, l := range p.Links {
		if e, ok := p.Find(l.Path); ok {
			t.Errorf("link %v is inside %s", l, e.Path)
		}
	}
	for _, u := range p.Unprotected {
		if p.RightsAt(filepath.Dir(u))&policy.Write == 0 {
			t.Errorf("unprotected %s cannot be changed anyway", u)
		}
		if p.Allows(policy.OpCreate, u) || p.Allows(policy.OpMkdir, u) {
			t.Errorf("unprotected %s can be created", u)
		}
	}
}
