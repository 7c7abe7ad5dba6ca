package commands

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestUnwrapConfigured: an entry that starts a server of the configuration gets the command of its
// table. If that is not possible, unwrap says why, and what to do.
func TestUnwrapConfigured(t *testing.T) {
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	const entry = `{"mcpServers": {"notes": {"command": "/opt/mcp-jail", "args": ["run", LIST], "env": {"A": "b"}}}}`
	for _, c := range []struct{ name, list, table, dir, want, said string }{
		{"the command", `"n"`, "command = \"npx\"\narguments = [\"-y\", \"it's\"]", "", `"command": "npx", "args": ["-y", "it's"], "env"`, "1 server"},
		{"no arguments", `"n"`, `command = "x"`, "", `"command": "x", "args": [], "env"`, "1 server"},
		{"below home", `"n"`, `command = "~/x"`, "", `"command": "HOME/x", "args": [], "env"`, "1 server"},
		{"a relative command", `"n"`, `command = "./x"`, "", "", "left: it starts the server n of mcp-jail's configuration: its command is relative"},
		{"a relative command without a dot", `"n"`, `command = "bin/x"`, "", "", "its command is relative"},
		{"a relative command above", `"n"`, `command = "../x"`, "", "", "its command is relative"},
		{"flags", `"--log-file", "/dev/null", "n"`, `command = "x"`, "", "", "its line has flags of mcp-jail; write its command by hand"},
		{"a secret", `"n"`, "command = \"x\"\narguments = [\"--api-key\", \"sk-0123456789abcdef\"]", "", `"sk-0123456789abcdef"`, `--api-key '***'`},
		{"a file of a project", `"n"`, `command = "x"`, "project", "", "others may have written the entry"},
		{"a workspace", `"n"`, "command = \"x\"\nworkspace = \"~/w\"", "", "", "relative to a workspace"},
		{"a workspace, and an argument in it", `"n"`, "command = \"x\"\narguments = [\"/srv/w\", \"notes\"]\nworkspace = \"/srv/w\"", "", "", "relative to a workspace"},
		{"a workspace, and its absolute path", `"n"`, "command = \"x\"\narguments = [\"-v\", \"/srv/w\"]\nworkspace = \"/srv/w\"", "", `"command": "x", "args": ["-v", "/srv/w"]`, "1 server"},
		{"a workspace, and a package with its absolute path", `"n"`, "command = \"npx\"\narguments = [\"-y\", \"@a/b\", \"/srv/w\"]\nworkspace = \"/srv/w\"", "", `"args": ["-y", "@a/b", "/srv/w"]`, "1 server"},
		{"a workspace, and a package with a path in it", `"n"`, "command = \"npx\"\narguments = [\"-y\", \"@a/b\", \"/srv/w\", \"sub\"]\nworkspace = \"/srv/w\"", "", "", "relative to a workspace"},
		{"a workspace, and a package", `"n"`, "command = \"npx\"\narguments = [\"-y\", \"@a/b\"]\nworkspace = \"/srv/w\"", "", "", "relative to a workspace"},
		{"a relative script", `"n"`, "command = \"node\"\narguments = [\"server.js\"]", "", "", "relative to a workspace"},
		{"a variable", `"n"`, "command = \"x\"\narguments = [\"${env:HOME}\"]", "", "", "would replace a variable"},
		{"unknown", `"o"`, `command = "x"`, "", "", "has no such server"},
		{"a broken configuration", `"n"`, `comand = "x"`, "", "", "mcp-jail check"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Chdir(home)
			for _, dir := range []string{".cursor", ".config/mcp-jail", "project/.cursor"} {
				if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(filepath.Join(home, c.dir))
			testkit.WriteFile(t, filepath.Join(home, ".config/mcp-jail/config.toml"), "version = 1\n[servers.n]\n"+c.table+"\n")
			before := strings.Replace(entry, "LIST", c.list, 1)
			testkit.WriteFile(t, ".cursor/mcp.json", before)
			text, _ := said(t, "unwrap", "--yes")
			if strings.Contains(text, "sk-0123456789abcdef") {
				t.Errorf("the secret is shown: %s", text)
			}
			after, err := os.ReadFile(".cursor/mcp.json")
			if err != nil || !strings.Contains(strings.Join(strings.Fields(text), " "), c.said) {
				t.Errorf("%v: %s", err, text)
			}
			if c.want == "" && string(after) != before || !strings.Contains(string(after), strings.Replace(c.want, "HOME", home, 1)) {
				t.Errorf("%s", after)
			}
		})
	}
}

// TestUntrustedIgnored checks that unwrap ignores a project's file that the user does not
// trust: it does not fail because of it, and takes no server from it.
func TestUntrustedIgnored(t *testing.T) {
	const entry = `{"mcpServers": {"notes": {"command": "/opt/mcp-jail", "args": ["run", "NAME"]}}}`
	for _, project := range []string{"version = 1\n[servers.x]\ncomand = \"y\"\n", "no TOML", "version = 1\n[servers.n]\ncommand = \"evil\"\n[servers.p]\ncommand = \"evil\"\n"} {
		clientHome(t, map[string]string{
			".cursor/mcp.json":              strings.Replace(entry, "NAME", "n", 1),
			".config/mcp-jail/config.toml":  "version = 1\n[servers.n]\ncommand = \"own\"\n",
			"project/" + config.ProjectFile: project,
		})
		t.Chdir("project")
		if text, status := said(t, "unwrap", "--yes"); status != 0 || !strings.Contains(text, "1 server") {
			t.Errorf("status %d: %s", status, text)
		}
		if b, _ := os.ReadFile("../.cursor/mcp.json"); !strings.Contains(string(b), `"command": "own", "args": []`) {
			t.Errorf("%s: %s", project, b)
		}
		testkit.WriteFile(t, "../.cursor/mcp.json", strings.Replace(entry, "NAME", "p", 1))
		text, _ := said(t, "unwrap", "--yes")
		if text = strings.Join(strings.Fields(text), " "); !strings.Contains(text, "~/project/.mcp-jail.toml is ignored, because it is not trusted") || strings.Contains(text, "evil") {
			t.Errorf("%s: %s", project, text)
		}
		// The user cannot have trusted a file that cannot be read.
		if err := errors.Join(os.Remove(config.ProjectFile), os.Mkdir(config.ProjectFile, 0o755)); err != nil {
			t.Fatal(err)
		}
		if text, _ := said(t, "unwrap", "--yes"); strings.Contains(text, "has an error") {
			t.Errorf("a directory: %s", text)
		}
	}
}

// TestUntrustedName: the name of a directory cannot pass for words of mcp-jail.
func TestUntrustedName(t *testing.T) {
	const name = "x\x1b[31m\nerror: fake"
	clientHome(t, map[string]string{
		".cursor/mcp.json":              `{"mcpServers": {"notes": {"command": "/opt/mcp-jail", "args": ["run", "p"]}}}`,
		name + "/" + config.ProjectFile: "version = 1\n",
	})
	t.Chdir(name)
	if text, _ := said(t, "unwrap", "--yes"); !strings.Contains(text, "is ignored") || strings.Contains(text, "\x1b") || strings.Contains(text, "\nerror: fake") {
		t.Errorf("%q", text)
	}
}

// TestUnwrapNamesCopy: where the command is not known, unwrap names the copy of the file from
// before wrap.
func TestUnwrapNamesCopy(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "HOME": home} {
		t.Setenv(name, value)
	}
	t.Chdir(home)
	if err := os.Mkdir(".cursor", 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, ".cursor/mcp.json", `{"mcpServers": {"a": {"command": "mcp-jail", "args": ["run", "--", "a"]}, "b": {"command": "mcp-jail", "args": ["run", "b"]}}}`)
	if text, status := said(t, "unwrap", "--yes"); status != 0 {
		t.Fatalf("status %d: %s", status, text)
	}
	text, _ := said(t, "unwrap")
	if text = strings.Join(strings.Fields(text), " "); !strings.Contains(text, "b left: it starts the server b") || !strings.Contains(text, "the file as it was is ~/.local/state/mcp-jail/backups/") {
		t.Errorf("%s", text)
	}
}

// clientHome makes a home with files of clients, for the test to run in.
func clientHome(t *testing.T, files map[string]string) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", t.TempDir())
	t.Chdir(os.Getenv("HOME"))
	for file, text := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		testkit.WriteFile(t, file, text)
	}
}

// TestOddPath: a path with letters that do not print, or with the words of a heading, is quoted.
func TestOddPath(t *testing.T) {
	for dir, want := range map[string]string{
		"a b é":                     "~/a b é/config.toml",
		"a\x1b[31m\n+\u202eb":       `"~/a\x1b[31m\n+\u202eb/config.toml"`,
		"a, line 1), in place of":   `"~/a, line 1), in place of/config.toml"`,
		"a\xffb":                    `"~/a\xffb/config.toml"`,
		`a"b`:                       `"~/a\"b/config.toml"`,
		"a" + string(rune(0xe0041)): `"~/a\U000e0041/config.toml"`,
	} {
		clientHome(t, map[string]string{dir + "/config.toml": "[mcp_servers.notes]\ncommand = \"/opt/mcp-jail\"\nargs = [\"run\", \"--name\", \"notes\", \"--\", \"s\"]\n"})
		t.Setenv("CODEX_HOME", filepath.Join(os.Getenv("HOME"), dir))
		text, _ := said(t, "unwrap", "--dry-run")
		whole := strings.Replace(want, "~", os.Getenv("HOME"), 1)
		if !strings.Contains(text, "Codex  "+want+"\n") || !strings.Contains(text, "\n--- "+whole+"\n+++ "+whole+"\n") {
			t.Errorf("%q: %s", dir, text)
		}
	}
}
