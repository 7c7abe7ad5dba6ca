package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestServerIndex: a server's start always gets the text of its own file. About other servers it gets what their
// files say once one was made, replaced or removed, or the other server was started.
func TestServerIndex(t *testing.T) {
	before := settled
	settled = 0
	t.Cleanup(func() { settled = before })
	const other = "[servers.other]\nid = \"other-4k7q2m9x3vt5\"\ncommand = \"npx\"\n"
	write := func(file, text string) { testkit.Must(t, os.WriteFile(file, []byte(text), 0o600)) }
	for name, c := range map[string]struct {
		change func(servers string)
		own    string // the HOME of notes that its start finds; "none": no file
		others int    // of notes, as its start finds them
	}{
		"nothing":       {func(string) {}, "", 1},
		"own, in place": {func(dir string) { write(dir+"/notes.toml", notesFile+"home = \"real\"\n") }, "real", 1},
		"own, another id": {func(dir string) {
			write(dir+"/notes.toml", "[servers.notes]\nid = \"x-4k7q2m9x3vt5\"\ncommand = \"npx\"\n")
		}, "none", 2},
		"another one more": {func(dir string) {
			write(dir+"/more.toml", "[servers.more]\nid = \"more-4k7q2m9x3vt5\"\ncommand = \"npx\"\n")
		}, "", 2},
		"another one goes":    {func(dir string) { testkit.Must(t, os.Remove(dir+"/other.toml")) }, "", 0},
		"another one, broken": {func(dir string) { testkit.Must(t, os.Rename(dir+"/other.toml", dir+"/broken.toml")) }, "", 0},
		"all":                 {func(dir string) { testkit.Must(t, os.RemoveAll(dir)) }, "none", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := serverFile(t, "notes.toml", notesFile)
			servers := filepath.Join(dir, ServersDir)
			write(servers+"/other.toml", other)
			ServerPolicies(dir, testID)
			if _, err := os.Stat(filepath.Join(dir, indexName)); err != nil {
				t.Fatal("there is no index: ", err)
			}
			c.change(servers)
			got := "none"
			if cfg, err := Load(LoadOptions{ID: testID, User: dir + "/config.toml", Trust: dir + "/trust.toml", System: dir + "/none", Workspace: dir}); err == nil {
				got = cfg.Servers["notes"].Home
			}
			others, broken := ServerPolicies(dir, testID)
			if got != c.own || len(others) != c.others || (len(broken) > 0) != (name == "another one, broken") {
				t.Errorf("own %q, %d others, %v; want %q, %d", got, len(others), broken, c.own, c.others)
			}
			// An id that is written into a file counts at once.
			if c.own == "none" && name != "all" {
				write(servers+"/notes.toml", notesFile)
				if _, err := Load(LoadOptions{ID: testID, User: dir + "/config.toml", Trust: dir + "/trust.toml", System: dir + "/none", Workspace: dir}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
