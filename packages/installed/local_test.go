package installed

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestLocal: what npx would run of the project stops a line that is not of the user's own, and the error has the line
// that starts it by its path.
func TestLocal(t *testing.T) {
	for _, row := range testkit.Rows(t, "local.txt", 6) {
		t.Run(row[0], func(t *testing.T) {
			top := testkit.Get(filepath.EvalSymlinks(t.TempDir()))(t)
			testkit.Must(t, os.MkdirAll(filepath.Join(top, "d/e"), 0o700))
			for _, file := range strings.Fields(row[2]) {
				name, text, _ := strings.Cut(file, "=")
				testkit.Must(t, os.MkdirAll(filepath.Join(top, filepath.Dir(name)), 0o700))
				testkit.WriteFile(t, filepath.Join(top, name), text)
			}
			line := testkit.Get(runline.Parse(strings.Fields(row[1])))(t)
			host := testkit.Get(hostfs.LocalHost())(t)
			host.Home, host.Dir = top, filepath.Join(top, "d")
			at, err := Finder{Host: &host, Own: row[3] != ""}.local(&line)
			place, start := "", strings.ReplaceAll(row[5], "TOP", top)
			if row[4] != "" {
				place = filepath.Join(top, row[4])
			}
			if row[3] != "" || place == "" {
				if at != place || err != nil {
					t.Errorf("%q, %v, want %q", at, err, place)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), " runs "+place+", which") || start != "" && !strings.HasSuffix(err.Error(), "`"+start+"`") {
				t.Errorf("%v, want %q and %q", err, place, start)
			}
		})
	}
}

// TestLocalBounds: what is too much to look through is an error for a project's line. The user's own line does not look
// there, and no link is walked through.
func TestLocalBounds(t *testing.T) {
	const workspaces, member = `{"workspaces":["*/*"]}`, `{"name":"p"}`
	for _, row := range []struct {
		name, want string
		make       func(dir string)
	}{
		{"below a link", "", func(dir string) {
			out := t.TempDir()
			testkit.Must(t, errors.Join(os.Mkdir(filepath.Join(out, "m"), 0o700), os.Symlink(out, filepath.Join(dir, "x"))))
			testkit.WriteFile(t, filepath.Join(out, "m/package.json"), member)
		}},
		{"a link", "/m/x, which is in the project", func(dir string) {
			out := t.TempDir()
			testkit.Must(t, errors.Join(os.Mkdir(filepath.Join(dir, "m"), 0o700), os.Symlink(out, filepath.Join(dir, "m/x"))))
			testkit.WriteFile(t, filepath.Join(out, "package.json"), member)
		}},
		{"many files", "too many to look for p@latest", func(dir string) {
			for n := range maxEntries {
				testkit.Must(t, os.Link(filepath.Join(dir, "package.json"), filepath.Join(dir, strconv.Itoa(n))))
			}
		}},
		{"a large file", "more than 1048576 bytes", func(dir string) {
			testkit.WriteFile(t, filepath.Join(dir, "package.json"), workspaces+strings.Repeat(" ", maxManifest))
		}},
	} {
		host := testkit.Get(hostfs.LocalHost())(t)
		host.Dir = testkit.Get(filepath.EvalSymlinks(t.TempDir()))(t)
		host.Home = host.Dir
		testkit.WriteFile(t, filepath.Join(host.Dir, "package.json"), workspaces)
		row.make(host.Dir)
		line := testkit.Get(runline.Parse([]string{"npx", "p"}))(t)
		at, err := Finder{Host: &host}.local(&line)
		if at != "" || (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %q, %v, want %q", row.name, at, err, row.want)
		}
		if at, err := (Finder{Host: &host, Own: true}).local(&line); at != "" || err != nil {
			t.Errorf("%s, for the user's own line: %q, %v", row.name, at, err)
		}
	}
}
