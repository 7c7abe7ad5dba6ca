package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestUnwrapConfigured: an entry that starts a server of the configuration stays, and unwrap says what to do.
func TestUnwrapConfigured(t *testing.T) {
	const entry = `{"mcpServers": {"notes": {"command": "/opt/mcp-jail", "args": ["run", "n"]}}}`
	clientHome(t, map[string]string{".cursor/mcp.json": entry})
	text, status := said(t, "unwrap", "--yes")
	after, _ := os.ReadFile(".cursor/mcp.json")
	if text = strings.Join(strings.Fields(text), " "); status != 0 || string(after) != entry || !strings.Contains(text, "notes stays as it is: it starts the server n of mcp-jail's configuration. Write the command") {
		t.Errorf("status %d: %s\n%s", status, text, after)
	}
}

// TestUntrustedIgnored: the commands ignore a project's file that the user does not trust. They do not fail because
// of it, also if it cannot be read.
func TestUntrustedIgnored(t *testing.T) {
	for _, project := range []string{"version = 1\n[servers.x]\ncomand = \"y\"\n", "no TOML", "version = 1\n[servers.n]\ncommand = \"evil\"\n", ""} {
		clientHome(t, map[string]string{
			".config/mcp-jail/config.toml":  "version = 1\n[servers.n]\ncommand = \"own\"\n",
			"project/" + config.ProjectFile: project,
		})
		t.Chdir("project")
		if project == "" {
			testkit.Must(t, os.Remove(config.ProjectFile), os.Mkdir(config.ProjectFile, 0o755))
		}
		x, err := index.Read()
		if err != nil || x.Ignored == nil || x.Err != nil {
			t.Errorf("%q: %+v, %v", project, x, err)
		}
	}
}

// TestUntrustedName: the name of a directory cannot pass for words of mcp-jail.
func TestUntrustedName(t *testing.T) {
	const name = "x\x1b[31m\nerror: fake"
	clientHome(t, map[string]string{name + "/" + config.ProjectFile: "version = 1\n"})
	t.Chdir(name)
	if text, _ := said(t, "check"); !strings.Contains(text, "is not trusted") || strings.Contains(text, "\x1b") || strings.Contains(text, "\nerror: fake") {
		t.Errorf("%q", text)
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
		testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
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

// TestFolders: what mcp-jail cannot use of its own folders is named: a file of another user, as after sudo.
func TestFolders(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""} {
		t.Setenv(name, value)
	}
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	said := func(when, want string) {
		t.Helper()
		all := folderChecks(host)
		if text := all[0].mark + " " + all[0].text; len(all) != 1 || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %+v", when, all)
		}
	}
	said("without the folders", "ok mcp-jail can write to its own folders (")
	packages := home + "/.local/share/mcp-jail/packages"
	testkit.Must(t, os.MkdirAll(packages+"/npm/deep", 0o700))
	said("the user's own", "ok ")
	if os.Getuid() != 0 {
		testkit.Must(t, os.Mkdir(home+"/.config", 0o500))
		said("read-only", "FAIL mcp-jail cannot write to "+home+"/.config/mcp-jail: permission denied")
		return // only root gives a file to another user
	}
	testkit.Must(t, os.Chown(packages+"/npm", 12345, 12345))
	said("of another user", "FAIL "+packages+"/npm belongs to another user")
	host.UID = -1
	said("where users have no numbers", "ok ")
}
