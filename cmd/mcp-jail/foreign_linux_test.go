package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// usesOwnFiles are command lines that need mcp-jail's own directories.
var usesOwnFiles = [][]string{
	{"run", "--", "true"}, {"plan", "--", "true"}, {"check"}, {"doctor"},
	{"wrap", "--dry-run"}, {"wrap", "--yes"}, {"unwrap", "--yes"}, {"status"}, {"install", "--", "npx", "-y", "p"}, {"status", "--all"}, {"status", "--remove", "s"}, {"status", "--remove", "--all"},
	{"trust", "project.toml"}, {"trust", "--remove", "project.toml"}, {"why", "s"}, {"undo", "s"}, {"undo", "--list", "s"}, {"undo", "--list"},
	{"__complete", "why", ""}, {"__complete", "undo", "s", ""}, {"__complete", "status", "--remove", ""},
}

var variables = regexp.MustCompile(`XDG_[A-Z]+_HOME`)

// TestForeignDirectories tests that each command refuses each of its own directories with the same
// error if another user has control over it, names the variable that chose it, and does nothing there. As root, the directory
// belongs to another user. For an ordinary user, others may write it.
func TestForeignDirectories(t *testing.T) {
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"project.toml": "", ".mcp.json": `{"mcpServers": {"m": {"command": "true"}}}`})
	shared := filepath.Join(w.base, "shared")
	must(t, os.Mkdir(shared, 0o755))
	type fault struct {
		reason string
		spoil  func() error
	}
	faults := []fault{{"may be written by other users", func() error { return os.Chmod(shared, 0o777) }}}
	if os.Geteuid() == 0 {
		foreign := func() error { return errors.Join(os.Chmod(shared, 0o755), os.Chown(shared, 12345, 12345)) }
		faults = []fault{{"belongs to user 12345", foreign}, faults[0]}
	}
	own := w.env
	for variable, role := range map[string]string{"XDG_CONFIG_HOME": "configuration", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data"} {
		w.env = append(slices.Clip(own), variable+"="+shared, "COLUMNS=10000")
		for i, f := range faults {
			reason, commands := f.reason, usesOwnFiles
			if i > 0 && !testkit.Long() {
				commands = commands[:1] // the same function judges
			}
			must(t, f.spoil())
			for _, args := range commands {
				out, err := w.mcpJail(args...).CombinedOutput()
				want := "mcp-jail's " + role + " directory " + shared + "/mcp-jail is refused: " + shared + " " + reason
				if err == nil || !strings.Contains(string(out), want) {
					t.Errorf("%s, %q: %v, %s\nwant %s", variable, args, err, out, want)
				}
				if named := variables.FindAllString(string(out), -1); strings.HasPrefix(reason, "belongs") && !slices.Equal(slices.Compact(named), []string{variable}) {
					t.Errorf("%s, %q: names %q: %s", variable, args, named, out)
				}
			}
			if entries, err := os.ReadDir(shared); err != nil || len(entries) != 0 {
				t.Errorf("%s: %v, %v", variable, entries, err)
			}
			must(t, errors.Join(os.Chown(shared, os.Geteuid(), os.Getegid()), os.Chmod(shared, 0o755)))
		}
	}
	w.env = slices.Clip(own)
	for _, name := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
		w.env = append(w.env, "XDG_"+name+"_HOME="+shared)
	}
	for _, args := range usesOwnFiles {
		if out, _ := w.mcpJail(args...).CombinedOutput(); strings.Contains(string(out), "is refused: ") {
			t.Errorf("control: %q: %s", args, out)
		}
	}
}
