package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// site is a home directory with a workspace, a PATH and an /opt of its own.
type site struct {
	t    testing.TB
	root string
}

func newSite(t testing.TB, files ...string) *site {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	s := &site{t: t, root: root}
	s.plant(append(files, "home/ws/", "bin/")...)
	return s
}

// plant makes files whose content is their name, directories (a trailing slash),
// links ("a -> b"), files with content ("a = text") and programs ("a !").
func (s *site) plant(files ...string) {
	s.t.Helper()
	for _, f := range files {
		name, text, _ := strings.Cut(f, " = ")
		name, target, link := strings.Cut(name, " -> ")
		name, program := strings.CutSuffix(name, " !")
		path := filepath.Join(s.root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case link:
			err = os.Symlink(target, path)
		case program:
			var elf []byte
			if elf, err = os.ReadFile("/usr/bin/true"); err == nil {
				err = testkit.WriteProgram(path, elf)
			}
		default:
			if text == "" {
				text = name
			}
			err = testkit.WriteProgram(path, []byte(strings.ReplaceAll(text, "ROOT", s.root)))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// profile resolves the default policy for a command as for a real start.
func (s *site) profile(command ...string) *policy.Profile {
	s.t.Helper()
	for i := range command {
		command[i] = strings.ReplaceAll(command[i], "ROOT", s.root)
	}
	ws := filepath.Join(s.root, "home/ws")
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: command, Workspace: ws, Dir: ws, Name: "s"})
	if err != nil {
		s.t.Fatal(err)
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		s.t.Fatal(err)
	}
	host.Home, host.Dir = filepath.Join(s.root, "home"), ws
	host.ConfigDir, host.StateDir, host.CacheDir = host.Home+"/.config/mcp-jail", host.Home+"/.local/state/mcp-jail", host.Home+"/.cache/mcp-jail"
	host.Environ = []string{"PATH=" + s.root + "/bin:/usr/bin:/bin"}
	profile, _, err := resolve.Resolve(p, host)
	if err != nil {
		s.t.Fatal(err)
	}
	return profile
}

// tick is longer than a tick of the clock that gives files their times.
const tick = 12 * time.Millisecond
