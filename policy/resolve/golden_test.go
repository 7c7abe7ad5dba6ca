package resolve

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// scenarios are hosts and configurations whose whole profiles testdata/*.golden holds, as
// plan would show them.
var scenarios = []struct {
	name, files, toml, tool string
	edit                    func(*hostfs.Host)
}{
	{name: "default", files: `
		d /home/u/proj/.git/hooks
		f /home/u/proj/.git/config
		f /home/u/proj/.env SECRET=1
		f /home/u/proj/.env.example
		f /home/u/proj/sub/.env.local
		f /home/u/proj/sub/.mcp.json
		d /home/u/proj/.vscode
		f /home/u/proj/main.go`,
		toml: "[servers.s]\ncommand = \"server\"\n"},
	{name: "npx", toml: "[servers.s]\ncommand = \"npx\"\narguments = [\"-y\", \"pkg\"]\nvariables = [\"GH_TOKEN\", \"MISSING\"]\n"},
	{name: "desktop", toml: "[servers.s]\ncommand = \"server\"\n", edit: func(h *hostfs.Host) { h.Dir = "/" }},
	{name: "nested", files: `
		d /home/u/proj/src/generated
		f /home/u/proj/.env
		d /data/notes
		l /home/u/notes /data/notes`,
		toml: aServer + fsTables(".:rw", "src:-w", "src/generated:x", ".env:", "~/notes:r", "out/:rw", "missing:r") + `[[servers.s.access.net]]
host = "API.github.com."
scheme = "https"
allow = true
[[servers.s.access.env]]
name = "GH_*"
read = true
`},
	{name: "home", files: `
		d /home/u/.ssh
		f /home/u/.aws/credentials
		f /home/u/.cargo/credentials.toml
		f /home/u/.claude.json
		d /home/u/.config/mcp-jail
		f /home/u/.bash_history
		d /home/u/.mozilla/firefox
		d /home/u/.config/google-chrome-beta
		f /home/u/doc.txt`,
		toml: aServer + `home = "real"
` + fsTables("~:rw", "~/.ssh/known_hosts:r", "~/.aws:r")},
	{name: "tool", files: "d /home/u/proj/notes", tool: "search",
		toml: "[servers.s]\ncommand = \"server\"\nstateful = false\n[[servers.s.tools.search.access.fs]]\npath = \"notes\"\nread = true\n"},
}

func TestGolden(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			edit := s.edit
			if edit == nil {
				edit = func(*hostfs.Host) {}
			}
			p, ws, err := resolveTool(t, newFake(aSystem, s.files), s.toml, s.tool, edit)
			testkit.Must(t, err)
			var b strings.Builder
			for _, w := range ws {
				b.WriteString("warning " + w.Code + ": " + w.String() + "\n")
			}
			b.WriteString(printProfile(p))
			testkit.Golden(t, s.name+".golden", b.String())
			checkProfile(t, p)
		})
	}
}

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
