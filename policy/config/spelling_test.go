package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// spellings returns ways to write a path that lead to it.
func spellings(path string) []string {
	return []string{path, path + "/", filepath.Dir(path) + "/./" + filepath.Base(path)}
}

// TestSpelling: a project is one, however its directory is written. What is trusted under one spelling is so
// under each, and what belongs to its servers has one name.
func TestSpelling(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	dir := filepath.Join(real, "My Project")
	testkit.Must(t, os.Mkdir(dir, 0o700))
	const text = "[servers.s]\ncommand = 'x'\n"
	file := filepath.Join(dir, ProjectFile)
	testkit.WriteFile(t, file, text)
	store, none := filepath.Join(t.TempDir(), "trust.toml"), filepath.Join(t.TempDir(), "none")
	for _, trusted := range spellings(dir) {
		testkit.Must(t, (TrustStore{Path: store}).Trust(filepath.Join(trusted, ProjectFile), []byte(text)))
		for _, used := range spellings(dir) {
			c, err := Load(LoadOptions{Workspace: used, System: none, User: none, Trust: store})
			if err != nil {
				t.Errorf("trusted as %s, used as %s: %v", trusted, used, err)
			} else if got := c.Servers["s"].Project; got != file {
				t.Errorf("as %s the server is of %s, want %s", used, got, file)
			}
		}
		if err := (TrustStore{Path: store}).Untrust(file); err != nil {
			t.Errorf("trusted as %s: %v", trusted, err)
		}
	}
	if _, err := Load(LoadOptions{Workspace: dir, System: none, User: none, Trust: store}); err == nil {
		t.Error("no one trusts the file, and it is used")
	}
}
