package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestWorkspaceWord tests what the server may do in its workspace: what the word says, and without one
// nothing beside grants, and else to write.
func TestWorkspaceWord(t *testing.T) {
	const rw = policy.Read | policy.Write
	for access, want := range map[string]struct {
		rights    policy.Rights
		isDefault bool
	}{
		"": {rw, true}, "[servers.s.access]\n": {0, false}, "access.fs = []\n": {0, false}, "access.workspace = 'write'\n": {rw, true}, "access.workspace = 'read'\n": {policy.Read, false}, "access.workspace = 'none'\n": {0, false},
		"access.sensitive_paths = ['a']\n": {rw, true}, "access.fs = [{ path = 'a', deny = true }]\n": {rw, true}, "access.net = [{ host = 'a', allow = false }]\naccess.env = [{ name = 'A', read = false }]\n": {rw, true},
		"access.fs = [{ path = '~/a', read = true }]\n": {0, false}, "access.net = [{ host = 'a', allow = true }]\n": {0, false}, "access.commands.git = {}\n": {0, false}, "access.commands.git = {}\naccess.fs = [{ path = 'a', deny = true }]\n": {0, false}, "access.inbound = [{ port = 3000 }]\n": {0, false},
		"access.workspace = 'write'\naccess.net = [{ host = 'a', allow = true }]\n": {rw, false}, "access.workspace = 'read'\naccess.fs = [{ path = 'a', deny = true }]\n": {policy.Read, false},
	} {
		for _, tool := range []string{"", "t"} {
			text := "[servers.s]\ncommand = 'x'\n" + access
			if tool != "" {
				text = "[servers.s]\ncommand = 'x'\nstateful = false\n[servers.s.tools.t]\n" + strings.ReplaceAll(access, "[servers.s.access]", "[servers.s.tools.t.access]")
			}
			p, err := decoded(t, text).Policy("s", tool)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var got policy.Rights
			for _, r := range p.Fs {
				if r.Workspace {
					got |= r.Rights()
				}
			}
			if got != want.rights || p.Default != want.isDefault {
				t.Errorf("%s: %s, default %v", text, got, p.Default)
			}
		}
	}
	// A later layer has the last word, and a word goes with grants of a lower one.
	c := decoded(t, "[servers.s]\ncommand = 'x'\naccess.workspace = 'none'\n")
	c.overlay(decoded(t, "[servers.s]\ncommand = 'x'\naccess.workspace = 'read'\naccess.net = [{ host = 'a', allow = true }]\n"))
	if p, err := c.Policy("s", ""); err != nil || len(p.Fs) != 1 || p.Fs[0].Label() != `f:3: workspace = "read"` {
		t.Errorf("%v, %v", p, err)
	}
}

// TestWordStays tests that no change of a file changes what a server may do in its workspace: not a grant, a denial, nor
// what is taken back, whatever the file says of it and whether it says it.
func TestWordStays(t *testing.T) {
	words := []string{"", "workspace = 'write'\n", "workspace = 'read'\n", "workspace = 'none'\n"}
	tables := []string{"", "[T]\nWORD", "[T]\nWORD[[T.fs]]\npath = '~/d'\ndeny = true\n", "[T]\nWORD[[T.net]]\nhost = 'a.test'\nallow = true\n", "[T]\nWORDsensitive_paths = ['x']\n",
		"[T]\nWORD[[T.net]]\nhost = 'a.test'\nallow = true\n[[T.fs]]\npath = '~/d'\ndeny = true\n", "[T]\nWORD[[T.env]]\nname = 'A'\nread = false\n", "[T]\nWORDfs = []\n"}
	rights := func(f *ServerFile, tool string) (got policy.Rights) {
		c := Config{Servers: map[string]*Server{"notes": f.Server}}
		p, err := c.Policy("notes", tool)
		must(t, err)
		for _, r := range p.Fs {
			if r.Workspace {
				got |= r.Rights()
			}
		}
		return got
	}
	for _, tool := range []string{"", "t"} {
		for _, all := range []string{"", "[servers.notes.tools.\"*\".access]\n", "[[servers.notes.tools.\"*\".access.net]]\nhost = 'all.test'\nallow = true\n"} {
			if tool == "" && all != "" {
				continue
			}
			for _, table := range tables {
				for _, word := range words {
					lines := strings.ReplaceAll(strings.ReplaceAll(table, "WORD", word), "T", "servers.notes.access")
					if tool != "" {
						lines = "stateful = false\n" + strings.ReplaceAll(strings.ReplaceAll(table, "WORD", word), "T", "servers.notes.tools.t.access") + all
					}
					was := rights(inFile(t, lines), tool)
					for _, flags := range []string{"--read ~/x", "--deny ~/y", "--net b.test", "--inbound 3000", "--env B", "--env B*", "--limit memory_mb=5", "--home real"} {
						f := inFile(t, lines)
						_, err := grantsOf(t, tool, flags).AddTo(f.Server)
						must(t, err)
						f, err = f.Checked()
						must(t, err)
						if got := rights(f, tool); got != was {
							t.Errorf("%q and %s of %q: %s, was %s", lines, flags, tool, got, was)
						}
						if hosts := (&Config{Servers: map[string]*Server{"notes": f.Server}}).process(f.Server, tool).Net; strings.Contains(all, "all.test") && !strings.Contains(table, "[T.net]") && !strings.Contains(lines, "tools.t.") && len(hosts) == 0 {
							t.Errorf("%q and %s: the tool loses what all tools have", lines, flags)
						}
						must(t, grantsOf(t, tool, flags).TakeFrom(f.Server))
						if f, err = f.Checked(); err != nil || rights(f, tool) != was {
							t.Errorf("%q and %s of %q, taken back: %s, was %s", lines, flags, tool, rights(f, tool), was)
						}
					}
					if f := inFile(t, lines); strings.Contains(lines, "a.test") {
						must(t, grantsOf(t, tool, "--net a.test").TakeFrom(f.Server))
						if f, err := f.Checked(); err != nil || rights(f, tool) != was {
							t.Errorf("%q without its host: %s, was %s", lines, rights(f, tool), was)
						}
					}
				}
			}
		}
	}
}

// TestWordWritten tests that a file which mcp-jail writes has the word, as it was in force.
func TestWordWritten(t *testing.T) {
	for lines, want := range map[string]string{
		"": "write", "[servers.notes.access]\n": "none", "[servers.notes.access]\nworkspace = 'read'\n": "read", "access.sensitive_paths = ['x']\n": "write",
		"access.net = [{ host = 'a', allow = true }]\n": "none", "stateful = false\n": "write",
	} {
		dir := serverFile(t, "notes.toml", notesFile+lines)
		must(t, ChangeServers(dir, func(files []*ServerFile, _ []error) ([]*ServerFile, error) {
			files[0].Server.Home = "real"
			twin := *files[0].Server
			twin.Name, twin.ID, twin.Access = "twin", "twin-4k7q2m9x3vt5", nil
			return append(files, &ServerFile{filepath.Join(dir, ServersDir, "twin.toml"), &twin}), nil
		}))
		for name, want := range map[string]string{"notes": want, "twin": "write"} {
			if text := testkit.ReadFile(t, filepath.Join(dir, ServersDir, name+".toml")); !strings.Contains(text, ".access]\nworkspace = \""+want+"\"\n") {
				t.Errorf("%s: no word %s in\n%s", lines, want, text)
			}
		}
	}
}

// TestDenialGivesNothing tests that a later layer with a denial alone, and a tool's table with one, leave what is
// around it: also a table that says nothing at all.
func TestDenialGivesNothing(t *testing.T) {
	c := decoded(t, "[servers.s]\ncommand = 'x'\n[servers.s.access]\n")
	merged := &Config{}
	merged.overlay(c)
	merged.overlay(decoded(t, "[servers.s]\ncommand = 'x'\naccess.fs = [{ path = 'a', deny = true }]\n"))
	tools := decoded(t, "[servers.s]\ncommand = 'x'\nstateful = false\ntools.\"*\".access = {}\ntools.t.access.fs = [{ path = 'a', deny = true }]\n")
	for tool, c := range map[string]*Config{"": merged, "t": tools} {
		if p, err := c.Policy("s", tool); err != nil || len(p.Fs) != 1 || p.Fs[0].Deny == 0 {
			t.Errorf("%q: %v, %v", tool, p.Fs, err)
		}
	}
}
