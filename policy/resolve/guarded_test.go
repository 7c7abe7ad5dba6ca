package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestGuarded tests that every way to a place of mcp-jail's own is seen: the place, what is in it,
// what is around it, links, other spellings, other mounts and variables.
func TestGuarded(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/.local/state/mcp-jail/trust.toml
		d /home/u/.local/share/mcp-jail/packages
		d /home/u/.config/mcp-jail
		d /home/u/.config/app
		d /home/u/notes
		l /home/u/link .local/state
		l /home/u/deep link/mcp-jail/trust.toml
		d /moved/mcp-jail/records
		f /srv/jail.toml
		f /home/u/.bashrc
		d /home/u/.claude
		x /home/u/.nvm/versions/node/v20/bin/node
		d /home/u/.npm
		d /mnt/alias/state/mcp-jail`).host()
	h.DataDir, h.Configs = "/home/u/.local/share/mcp-jail", []string{"/srv/jail.toml"}
	lstat := h.Lstat
	h.Lstat = func(p string) (hostfs.FileInfo, error) { // a bind mount
		info, err := lstat(p)
		if rest, ok := strings.CutPrefix(p, "/mnt/alias"); ok && err == nil {
			of, _ := lstat("/home/u/.local" + rest)
			info.ID = of.ID
		}
		return info, err
	}
	relocated := h
	relocated.StateDir = "/moved/mcp-jail"
	const read, write, never = "read", "write", "never"
	for _, c := range []struct {
		path, when string
		h          hostfs.Host
	}{
		{"/home/u/.local/state/mcp-jail", read, h}, {"/home/u/.local/state/mcp-jail/trust.toml", read, h},
		{"/home/u/.local/state/mcp-jail/servers/other/home/x", read, h}, {"/home/u/.local/state/mcp-jail/new", read, h},
		{"/home/u/.local/state", read, h}, {"/home/u/.local", read, h}, {"/home/u", read, h}, {"/", read, h},
		{"/home/u/.config", read, h}, {"/home/u/.config/mcp-jail", read, h}, {"/home/u/.cache/mcp-jail/catalog", read, h},
		{"/home/u/.local/share/mcp-jail/packages/x", read, h}, {"/etc/mcp-jail/config.toml", read, h},
		{"/home/u/link", read, h}, {"/home/u/link/mcp-jail", read, h}, {"/home/u/deep", read, h},
		{"/home/u/.LOCAL/State/MCP-jail/trust.toml", read, h}, {"/mnt/alias/state/mcp-jail/x", read, h}, {"/mnt/alias/state", read, h},
		{"/moved/mcp-jail/records/1", read, relocated}, {"/moved", read, relocated}, {"/home/u/.local/state/mcp-jail", read, relocated},
		{"/usr/local/bin/mcp-jail", read, h}, {"/srv/jail.toml", read, h},
		{"/usr/local/bin", write, h}, {"/usr/local/bin/mcp-jail-tls", read, h}, {"/srv", write, h},
		{"/home/u/.bashrc", write, h}, {"/home/u/.claude/settings.json", write, h},
		{"/home/u/.nvm/versions/node/v20/bin", write, h}, {"/home/u/.fnm/node-versions", write, h}, {"/home/u/.local/bin", write, h},
		{"/home/u/.npm", never, h}, {"/home/u/.cache/uv", never, h}, // a server may have a reason to write caches
		{"/home/u/notes", never, h}, {"/home/u/.config/app", never, h}, {"/home/u/.local/state/mcp-jail-notes", never, h},
		{"/home/u/.local/state/other", never, h}, {"/home/u/.local/share/app/x.db", never, h}, {"/moved", never, h}, {"/home/u/proj/mcp-jail", never, h},
	} {
		for _, asked := range []bool{false, true} {
			want := c.when == read || c.when == write && asked
			if got := Guarded(&c.h, c.path, asked); (got != "") != want {
				t.Errorf("%s, write %v: %q", c.path, asked, got)
			}
		}
	}
}

// TestOwnGranted tests the warning about a rule that names a file of mcp-jail itself and lets the
// server write to it. The rule holds: a user may want it.
func TestOwnGranted(t *testing.T) {
	h := newFake(aSystem, "f /home/u/.local/state/mcp-jail/trust.toml", "f /home/u/.config/mcp-jail/config.toml", "d /home/u/notes")
	for rule, warned := range map[string]bool{
		"~/.local/state/mcp-jail/trust.toml": true, "~/.config/mcp-jail": true, "/usr/local/bin/mcp-jail": true,
		"~/notes": false, "~/.local": false, "~/": false,
	} {
		p, warnings, err := resolveFake(t, h, "version = 1\n[servers.s]\ncommand = \"/usr/bin/server\"\n[[servers.s.access.fs]]\npath = \""+rule+"\"\nread = true\nwrite = true\n")
		testkit.Must(t, err)
		found := false
		for _, w := range warnings {
			found = found || w.Code == "own-granted"
		}
		if found != warned {
			t.Errorf("%s: %v", rule, warnings)
		}
		at := strings.Replace(strings.TrimSuffix(rule, "/"), "~", "/home/u", 1)
		if !p.RightsAt(at).Has(policy.Write) {
			t.Errorf("%s: %s", rule, p.RightsAt(at))
		}
	}
}

// TestLoginsAreHidden checks that a grant of the home directory shows no login that a client or mcp-remote keeps
// for its servers.
func TestLoginsAreHidden(t *testing.T) {
	logins := []string{
		".mcp-auth/mcp-remote-0.1.37/x_tokens.json", ".codex/.credentials.json", ".gemini/mcp-oauth-tokens-v2.json", ".copilot/config.json", ".local/share/opencode/mcp-auth.json",
		".config/goose/secrets.yaml", ".local/share/crush/crush.json", ".local/share/amazon-q/data.sqlite3", ".local/share/kiro-cli/data.sqlite3", ".cloudflared/cert.pem",
		".copilot/mcp-config.json", ".codex/config.toml", ".config/mcp-jail/servers/notes.toml",
	}
	others := []string{".gemini/GEMINI.md", ".local/share/crush/crush.db", ".mcp-author/x"}
	h := newFake(aSystem, "f /home/u/"+strings.Join(append(logins, others...), "\nf /home/u/"))
	p, _, err := resolveFake(t, h, "version = 1\n[servers.s]\ncommand = \"/usr/bin/server\"\n[[servers.s.access.fs]]\npath = \"~/\"\nread = true\n")
	testkit.Must(t, err)
	for _, name := range logins {
		if got := p.RightsAt("/home/u/" + name); got != 0 {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, name := range others {
		if !p.RightsAt("/home/u/" + name).Has(policy.Read) {
			t.Errorf("%s cannot be read", name)
		}
	}
}

// TestMovedIsHidden checks that what a variable moves elsewhere is hidden there, and in its usual place.
func TestMovedIsHidden(t *testing.T) {
	secret := []string{"/home/u/.config/gh/hosts.yml", "/home/u/cfg/gh/hosts.yml", "/home/u/codex/config.toml", "/home/u/.codex/config.toml"}
	open := []string{"/home/u/cfg/app/x", "/home/u/codex/AGENTS.md"}
	h := newFake(aSystem, "f "+strings.Join(append(secret, open...), "\nf ")).host()
	h.Places = []string{"XDG_CONFIG_HOME=/home/u/cfg", "CODEX_HOME=/home/u/codex"}
	for _, name := range secret {
		if Sensitive(&h, &policy.Policy{}, name) == "" {
			t.Errorf("%s is not hidden", name)
		}
	}
	for _, name := range open {
		if why := Sensitive(&h, &policy.Policy{}, name); why != "" {
			t.Errorf("%s: hidden as %s", name, why)
		}
	}
}
