package index

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// readAs reads the index with a file as the program that clients start.
func readAs(t *testing.T, program string) *Index {
	t.Helper()
	c := &Choice{}
	host, files, err := c.Find()
	testkit.Must(t, err)
	return c.read(host, files, Program{Program: wrapping.Program{Path: program}})
}

// plantHome makes a home directory and a project in it, and makes the project the working directory.
func plantHome(t *testing.T, files map[string]string) (dir string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	testkit.PlantBelow(t, dir, "home/", "project/", "bin/mcp-jail")
	for name, value := range map[string]string{"HOME": dir + "/home", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""} {
		t.Setenv(name, value)
	}
	t.Setenv("PATH", dir+"/bin:"+os.Getenv("PATH"))
	testkit.Must(t, os.Chmod(dir+"/bin/mcp-jail", 0o700))
	t.Chdir(dir + "/project")
	for file, content := range files {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
		testkit.WriteFile(t, filepath.Join(dir, file), strings.NewReplacer("HOME", dir+"/home", "BIN", dir+"/bin", "PROJECT", dir+"/project").Replace(content))
	}
	return dir
}

const (
	stateDir  = "home/.local/state/mcp-jail/servers/"
	serversAt = "home/.config/mcp-jail/servers/"
)

// TestPick tests which words mean which server, and what is said of the others.
func TestPick(t *testing.T) {
	dir := plantHome(t, testkit.Archive(t, "user.txt"))
	x := readAs(t, dir+"/bin/mcp-jail")
	for word, want := range testkit.Named[string](t, "picked.txt") {
		if s, err := x.Pick(word, nil); err != nil || s.Key != want {
			t.Errorf("%s: %+v, %v, want %s", word, s, err, want)
		}
	}
	for word, want := range map[string]string{
		"mem":    "mem means 2 servers; type one of these:\n  mem --client cursor   Cursor (~/.cursor/mcp.json, line 3)\n  mem --client gemini   Gemini CLI (~/.gemini/settings.json, line 3)",
		"twin":   "twin means 2 servers; type one of these:\n  twin-01234567   started by hand in /a:  twin a\n  twin-fedcba98   started by hand in /b:  twin b",
		"notess": "there is no server notess; did you mean notes?\na server's file cannot be used: ~/.config/mcp-jail/servers/broken.toml:3",
		"notes":  "notes means 2 servers; type one of these:\n  evil-", // the user's own is called so, and the project's
		"zzz":    "there is no server zzz. To see all servers:",
		"broken": dir + "/home/.config/mcp-jail/servers/broken.toml:3",
	} {
		if s, err := x.Pick(word, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", word, s, err, want)
		}
	}
	// What a command cannot use does not hide what it can.
	kept := func(s *Server) bool { return s.Kept != nil && strings.HasPrefix(s.Key, "twin-f") }
	if s, err := x.Pick("twin", kept); err != nil || s.Key != "twin-fedcba9876543210fedcba9876543210" {
		t.Errorf("of those that fit: %+v, %v", s, err)
	}
	if s, err := x.Pick("gh", kept); err != nil || s.Key != "gh" {
		t.Errorf("of one that does not fit: %+v, %v", s, err)
	}
}

// TestJoined tests that all that is known of a server comes together under one key, and that each name chooses its server.
func TestJoined(t *testing.T) {
	dir := plantHome(t, testkit.Archive(t, "user.txt"))
	x := readAs(t, dir+"/bin/mcp-jail")
	s, err := x.Pick("my-notes", nil)
	if err != nil || len(s.Entries) != 2 || s.File == nil || s.Kept == nil || !slices.Equal(s.Called, []string{"notes", "notizen", "my-notes"}) || s.Name != "my-notes" {
		t.Errorf("%+v, %v", s, err)
	}
	if gh, err := x.Pick("gh", nil); err != nil || gh.Table == nil || gh.EntryByName() == nil || gh.EntryByName().Server != "hub" {
		t.Errorf("%+v, %v", gh, err)
	}
	for _, s := range x.Servers {
		if len(s.Entries) > 0 && s.Key == "" {
			continue // --client chooses these
		}
		if got, err := x.Pick(s.Name, nil); err != nil || got != s {
			t.Errorf("%s: %+v, %v", s.Name, got, err)
		}
	}
	for word, want := range map[string]string{"team": "put mcp-jail in front first, with  mcp-jail wrap --server team", "old": "mcp-jail wrap --server old"} {
		s, err := x.Pick(word, nil)
		if _, err2 := s.JailedEntry(word); err != nil || err2 == nil || !strings.Contains(err2.Error(), want) {
			t.Errorf("%s: %v, %v", word, err, err2)
		}
	}
	one := (&Choice{Selection: wrapping.Selection{Clients: []string{"gemini"}}})
	host, files, err := one.Find()
	testkit.Must(t, err)
	if x := one.read(host, files, Program{Program: wrapping.Program{Path: dir + "/bin/mcp-jail"}}); len(x.Servers) != 2 || x.Servers[0].File == nil {
		t.Errorf("of one client: %+v", x.Servers)
	}
}

// TestPickRenewed: the name of a server that no client starts any more is not taken for what a client calls so now.
func TestPickRenewed(t *testing.T) {
	file := func(name, id, word string) string {
		return "version = 1\n[servers." + name + "]\nid = \"" + id + "\"\ncommand = \"npx\"\narguments = [\"-y\", \"" + word + "\"]\n"
	}
	dir := plantHome(t, map[string]string{
		"home/.claude.json":         `{"mcpServers": {"memory": {"command": "BIN/mcp-jail", "args": ["run", "--id", "memory-2-0123456789ab", "--", "npx", "-y", "new"]}}}`,
		serversAt + "memory.toml":   file("memory", "memory-0123456789ab", "old"),
		serversAt + "memory-2.toml": file("memory-2", "memory-2-0123456789ab", "new"),
	})
	x := readAs(t, dir+"/bin/mcp-jail")
	for _, fits := range []func(*Server) bool{nil, (*Server).IsOwn} {
		if s, err := x.Pick("memory", fits); err == nil || !strings.Contains(err.Error(), ":\n  memory-0123456789ab   ~/.config/mcp-jail/servers/memory.toml\n  memory-2   Claude Code") {
			t.Errorf("%+v, %v", s, err)
		}
		for _, word := range []string{"memory-2", "memory-0123456789ab"} {
			if s, err := x.Pick(word, fits); err != nil || !strings.HasPrefix(s.Key, word) {
				t.Errorf("%s: %+v, %v", word, s, err)
			}
		}
	}
}

// TestPickOfProjects: what a repository or another project declares takes no word, no id and no file from a server of the user.
func TestPickOfProjects(t *testing.T) {
	file := func(name, id, word string) string {
		return "version = 1\n[servers." + name + "]\nid = \"" + id + "\"\ncommand = \"npx\"\narguments = [\"-y\", \"" + word + "\"]\n"
	}
	line := func(id, word string) string {
		return `{"command": "BIN/mcp-jail", "args": ["run", "--id", "` + id + `", "--", "npx", "-y", "` + word + `"]}`
	}
	dir := plantHome(t, map[string]string{
		"home/.claude.json": `{"mcpServers": {"tracker": ` + line("tracker-0123456789ab", "tracker") + `, "bare": {"command": "npx", "args": ["-y", "bare"]}},
			"projects": {"/elsewhere": {"mcpServers": {"local": ` + line("local-0123456789ab", "there") + `}}, "PROJECT": {"mcpServers": {"local": ` + line("local-ba9876543210", "here") + `}}}}`,
		"project/.mcp.json":        `{"mcpServers": {"release": ` + line("tracker-0123456789ab", "evil") + `, "track": {"command": "npx", "args": ["-y", "evil"]}}}`,
		serversAt + "tracker.toml": file("tracker", "tracker-0123456789ab", "tracker"), serversAt + "local.toml": file("local", "local-0123456789ab", "there"),
		serversAt + "local-2.toml": file("local-2", "local-ba9876543210", "here"), serversAt + "bare.toml": file("bare", "bare-0123456789ab", "bare"),
	})
	x := readAs(t, dir+"/bin/mcp-jail")
	if s, err := x.Pick("release", nil); err != nil || s.Key != "" || s.File != nil || len(s.Unclear()) != 1 {
		t.Errorf("an id in a project's file: %+v, %v", s, err)
	}
	if s, err := x.Pick("tracker", nil); err != nil || s.Key != "tracker-0123456789ab" || len(s.Entries) != 1 {
		t.Errorf("the server of the id: %+v, %v", s, err)
	}
	if s, err := x.Pick("track", nil); err == nil || !strings.Contains(err.Error(), "track means 2 servers") {
		t.Errorf("the beginning of a name: %+v, %v", s, err)
	}
	if s, err := x.Pick("local", nil); err == nil || !strings.Contains(err.Error(), ":\n  local-0123456789ab   ") || !strings.Contains(err.Error(), "\n  local-2   ") {
		t.Errorf("the name of another project's, which is called so here, too: %+v, %v", s, err)
	}
	if s, err := x.Pick("local-2", nil); err != nil || s.Key != "local-ba9876543210" {
		t.Errorf("the one for this project: %+v, %v", s, err)
	}
	if s, err := x.Pick("bare", nil); err != nil || s.File == nil || len(s.Entries) != 1 || s.IsJailed() {
		t.Errorf("one that was unwrapped: %+v, %v", s, err)
	}
}
