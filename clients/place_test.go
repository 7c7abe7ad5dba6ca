package clients

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLocate tests where files are, on each system and with each variable.
func TestLocate(t *testing.T) {
	linux := Host{OS: "linux", Home: "/home/me", Project: "/home/me/app"}
	mac := Host{OS: "darwin", Home: "/Users/me", Project: "/Users/me/app"}
	windows := Host{OS: "windows", Home: `C:\Users\me`, Project: `D:\app`}
	for _, c := range []struct {
		client, scope, label string
		host                 Host
		env                  string // NAME=VALUE
		want                 string // a file, or "DIR PATTERN"; "" for none
	}{
		{"claude-code", "user", "", linux, "", "/home/me/.claude.json"},
		{"claude-code", "user", "", linux, "CLAUDE_CONFIG_DIR=/etc/claude", "/etc/claude/.claude.json"},
		{"claude-code", "user", "", linux, "CLAUDE_CONFIG_DIR=claude", "/home/me/.claude.json"},
		{"claude-code", "user", "", linux, "CLAUDE_CONFIG_DIR=/", "/.claude.json"},
		{"claude-code", "user", "", windows, "", `C:\Users\me\.claude.json`},
		{"claude-code", "user", "", windows, `CLAUDE_CONFIG_DIR=E:\c`, `E:\c\.claude.json`},
		{"claude-code", "project", "", linux, "", "/home/me/app/.mcp.json"},
		{"claude-code", "project", "", Host{OS: "linux", Home: "/home/me"}, "", ""},
		{"claude-code", "managed", "", linux, "", "/etc/claude-code/managed-mcp.json"},
		{"claude-code", "managed", "", windows, "", `C:\Program Files\ClaudeCode\managed-mcp.json`},
		{"claude-code", "managed", "", windows, `ProgramFiles=F:\Programs`, `F:\Programs\ClaudeCode\managed-mcp.json`},
		{"claude-desktop", "user", "", Host{OS: "freebsd", Home: "/home/me"}, "", "/home/me/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", "user", "", linux, "XDG_CONFIG_HOME=/cfg", "/cfg/Claude/claude_desktop_config.json"},
		{"claude-desktop", "user", "", mac, "XDG_CONFIG_HOME=/cfg", "/Users/me/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "user", "", windows, "", `C:\Users\me\AppData\Roaming\Claude\claude_desktop_config.json`},
		{"claude-desktop", "user", "", windows, `APPDATA=\\srv\me`, `\\srv\me\Claude\claude_desktop_config.json`},
		{"claude-desktop", "user", "Microsoft Store", windows, "", `C:\Users\me\AppData\Local\Packages Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json`},
		{"claude-desktop", "user", "Microsoft Store", linux, "", ""},
		{"vscode", "user", "Insiders, profiles", mac, "", "/Users/me/Library/Application Support/Code - Insiders/User/profiles */mcp.json"},
		{"vscode", "user", "portable", mac, "COPILOT_HOME=/c", "/c/mcp-config.json"},
		{"cline", "user", "", linux, "CLINE_MCP_SETTINGS_PATH=/x/y.json", "/x/y.json"},
		{"cline", "user", "", linux, "CLINE_DIR=/x", "/x/data/settings/cline_mcp_settings.json"},
		{"opencode", "user", "OPENCODE_CONFIG", linux, "", ""},
		{"opencode", "user", "OPENCODE_CONFIG", linux, "OPENCODE_CONFIG=/o.json", "/o.json"},
		{"kiro", "project", "agents", windows, "", `D:\app\.kiro\agents *.json`},
		{"zed", "user", "", mac, "", "/Users/me/.config/zed/settings.json"},
		{"zed", "user", "Flatpak", linux, "FLATPAK_XDG_CONFIG_HOME=/f", "/f/zed/settings.json"},
		{"zed", "user", "Flatpak", linux, "", ""},
		{"codex", "system", "", windows, "", `C:\ProgramData\OpenAI\Codex\config.toml`},
		{"crush", "system", "", windows, "", ""},
		{"crush", "user", "written by Crush", linux, "", "/home/me/.local/share/crush/crush.json"},
		{"jp", "user", "", windows, "", `C:\Users\me\AppData\Roaming\jp\config\config.toml`},
		{"cursor", "user", "", Host{OS: "linux"}, "", ""},
	} {
		client, err := ByName(c.client)
		testkit.Must(t, err)
		i := slices.IndexFunc(client.Places, func(p Place) bool { return string(p.Scope) == c.scope && p.Label == c.label })
		if i < 0 {
			t.Errorf("%s has no place %s %q", c.client, c.scope, c.label)
			continue
		}
		name, value, _ := strings.Cut(c.env, "=")
		if c.env != "" {
			c.host.Env = func(asked string) string {
				if asked == name {
					return value
				}
				return ""
			}
		}
		location, ok := client.Places[i].Locate(c.host)
		got := location.File
		if location.Pattern != "" {
			got += location.Dir + " " + location.Pattern
		}
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s %s %q on %s with %q: %q %v, want %q", c.client, c.scope, c.label, c.host.OS, c.env, got, ok, c.want)
		}
	}
}

// TestAbove tests in which directories a file of a project is looked for.
func TestAbove(t *testing.T) {
	h := Host{OS: "linux", Home: "/home/me", Project: "/src/repo/a/b", Above: []string{"/src/repo/a", "/src/repo", "/src", "/"}, Repo: 2}
	files := func(p Place) (all []string) {
		for _, at := range p.LocateAll(h) {
			all = append(all, at.File)
		}
		return all
	}
	p := everywhere(Project, ".x", JSON, nil)
	for reach, want := range map[Reach][]string{
		InProject: {"/src/repo/a/b/.x"}, InRepository: {"/src/repo/a/b/.x", "/src/repo/a/.x", "/src/repo/.x"},
		InAll: {"/src/repo/a/b/.x", "/src/repo/a/.x", "/src/repo/.x", "/src/.x", "/.x"},
	} {
		if got := files(above(p, reach)); !slices.Equal(got, want) {
			t.Errorf("%d: %q, want %q", reach, got, want)
		}
	}
	if got := files(above(everywhere(User, "~/.x", JSON, nil), InAll)); !slices.Equal(got, []string{"/home/me/.x"}) {
		t.Errorf("of the user: %q", got)
	}
	if h.Repo = -1; len(files(above(p, InRepository))) != 5 {
		t.Errorf("without a repository: %q", files(above(p, InRepository)))
	}
	h.Repo = 2
	for file, want := range map[string]string{"/src/repo/.mcp.json": "claude-code", "/src/.mcp.json": "claude-code", "/src/repo/a/.codex/config.toml": "codex"} {
		var readers []string
		EachReader(file, h, func(c Client, _ Place) { readers = append(readers, c.Name) })
		if !slices.Equal(readers, []string{want}) {
			t.Errorf("%s is read by %q, want %s", file, readers, want)
		}
	}
}

// TestProjectFilesAreProtected: a server in a jail cannot write the files in which clients look
// for servers in a project (docs/protected.md "Protected names").
func TestProjectFilesAreProtected(t *testing.T) {
	for _, c := range All() {
		places := slices.Clone(c.Places)
		for _, s := range c.Shared {
			if s.Path != nil { // files .env are hidden
				places = append(places, s.Place)
			}
		}
		for _, p := range places {
			loc, ok := p.Locate(Host{OS: "linux", Home: "/home/u", Project: "/src/project"})
			if !ok || p.Scope != Project {
				continue
			}
			file := loc.File
			if file == "" {
				file = loc.Dir + "/" + loc.Pattern
			}
			if !policy.HasProtectedName(file) {
				t.Errorf("%s of %s can be written from a jail", file, c.Name)
			}
		}
	}
}
