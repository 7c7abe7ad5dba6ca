package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAttempt tests that grants with which a server would not start are found, for a server of a file and for one
// that the command line declares.
func TestAttempt(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	work := filepath.Join(home, "work")
	for _, dir := range []string{work, filepath.Join(work, "hidden"), filepath.Join(home, "notes")} {
		testkit.Must(t, os.MkdirAll(dir, 0o700))
	}
	t.Chdir(work)
	file := filepath.Join(home, "c.toml")
	load := func(lines ...string) *Target {
		t.Helper()
		text := "version = 1\n[servers.s]\ncommand = \"sh\"\nworkspace = " + show.TOML(work) + "\n" + strings.Join(lines, "\n") + "\n"
		testkit.Must(t, os.WriteFile(file, []byte(text), 0o600))
		target, err := Resolve(cmdline.ConfigFlags{Config: []string{file}}, cmdline.PolicyFlags{}, "s", "", cmdline.Server{})
		testkit.Must(t, err)
		return target
	}
	given := func(flags cmdline.PolicyFlags) *Target {
		t.Helper()
		target, err := Resolve(cmdline.ConfigFlags{}, flags, "", "", cmdline.Server{Given: true, Argv: []string{"sh"}})
		testkit.Must(t, err)
		return target
	}
	all := []string{"[[servers.s.access.fs]]", `path = "."`, "read = true", "write = true"}
	wide := cmdline.PolicyFlags{Name: "s", Write: []string{"."}}
	for _, tt := range []struct {
		name   string
		target *Target
		words  string
		wrong  bool
	}{
		{"a path", load(all...), "--read ~/notes", false},
		{"no rules yet", load(), "--read ~/notes", false},
		{"a limit beside others", load(append([]string{"[servers.s.limits]", "memory_mb = 4096"}, all...)...), "--limit memory_mb=8192", false},
		{"a path without meaning", load(all...), "--read x/*", true},
		{"a flag of a line", given(wide), "--read ~/notes --env A --limit memory_mb=99 --net a.test", false},
		{"a path of a line without meaning", given(wide), "--read x/*", true},
	} {
		if err := tt.target.attempt("", strings.Fields(tt.words)); (err != nil) != tt.wrong {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	gone := load(all...)
	testkit.Must(t, os.WriteFile(file, []byte("version ="), 0o600))
	if err := gone.attempt("", []string{"--read", "~/notes"}); err != nil {
		t.Errorf("a file that is broken without them: %v", err)
	}
}
