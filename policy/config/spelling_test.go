package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// spellings returns ways to write a path that lead to it: on Windows, where drives and names have no case,
// several.
func spellings(path string) []string {
	if runtime.GOOS != "windows" {
		return []string{path, path + "/", filepath.Dir(path) + "/./" + filepath.Base(path)}
	}
	return []string{path, strings.ToLower(path[:1]) + path[1:], strings.ToUpper(path), strings.ToLower(path), filepath.ToSlash(path), path + `\`}
}

// TestSpelling: a project is one, however its directory is written. What is trusted under one spelling is so
// under each, and what belongs to its servers has one name.
func TestSpelling(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	dir := filepath.Join(real, "My Project")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const text = "[servers.s]\ncommand = 'x'\n"
	file := filepath.Join(dir, ProjectFile)
	testkit.WriteFile(t, file, text)
	store, none := filepath.Join(t.TempDir(), "trust.toml"), filepath.Join(t.TempDir(), "none")
	for _, trusted := range spellings(dir) {
		if err := (TrustStore{Path: store}).Trust(filepath.Join(trusted, ProjectFile), []byte(text)); err != nil {
			t.Fatal(err)
		}
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

// TestFormsOfWindows: no configuration is read on Windows by a path that mcp-jail does not take there. The control
// is the same file by its plain path.
func TestFormsOfWindows(t *testing.T) {
	if runtime.GOOS != "windows" {
		return // every other name is one of a file
	}
	file := filepath.Join(t.TempDir(), "c.toml")
	testkit.WriteFile(t, file, "[servers.s]\ncommand = 'x'\n")
	if _, err := Load(LoadOptions{Files: []string{file}}); err != nil {
		t.Errorf("the file itself: %v", err)
	}
	for path, want := range map[string]string{
		`\\?\` + file: "without", `\\.\` + file: "without", file + "::$DATA": "stream", file + ":s": "stream",
		"NUL": "is refused", `C:\x\CON`: "is refused", `C:\x\com1.toml`: "is refused", `\\127.0.0.1\c$\x`: "another machine", "//127.0.0.1/c$/x": "another machine",
	} {
		if _, err := Load(LoadOptions{Files: []string{path}}); err == nil || !strings.Contains(err.Error(), "is refused") || !strings.Contains(err.Error(), want) {
			t.Errorf("--config %s: %v, want %s", path, err, want)
		}
	}
	for _, path := range []string{`\\127.0.0.1\c$`, `\\?\` + filepath.Dir(file), `C:\x\NUL`, filepath.Dir(file) + "::$INDEX_ALLOCATION"} {
		if _, err := Load(LoadOptions{Workspace: path, System: file, User: file, Trust: file}); err == nil || !strings.Contains(err.Error(), "the workspace: ") {
			t.Errorf("--workspace %s: %v", path, err)
		}
	}
}
