package installed

import (
	"context"
	"errors"
	"hash/fnv"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A machine is a host in memory, with the home directory /home.
type machine struct {
	t     *testing.T
	host  hostfs.Host
	modes map[string]fs.FileMode
	texts map[string]string // of a file, or the target of a link
}

// newMachine makes files: "x NAME" is a program, "l NAME -> TARGET" a link, "f NAME: TEXT" a
// file. In variables and targets, @/ is the root directory.
func newMachine(t *testing.T, environ []string, files ...string) *machine {
	t.Helper()
	m := &machine{t: t, modes: map[string]fs.FileMode{"/": fs.ModeDir | 0o755}, texts: map[string]string{}}
	for _, f := range files {
		kind, name, _ := strings.Cut(f, " ")
		name, text, _ := strings.Cut(name, map[string]string{"x": "\n", "l": " -> ", "f": ": "}[kind])
		for dir := path.Dir(m.at(name)); dir != "/"; dir = path.Dir(dir) {
			m.modes[dir] = fs.ModeDir | 0o755
		}
		m.modes[m.at(name)] = map[string]fs.FileMode{"x": 0o755, "l": fs.ModeSymlink | 0o777, "f": 0o644}[kind]
		m.texts[m.at(name)] = strings.ReplaceAll(text, "@/", "/")
	}
	for i, e := range environ {
		environ[i] = strings.ReplaceAll(e, "@/", "/")
	}
	m.host = hostfs.Host{
		OS: "linux", Home: "/home", Dir: "/home/work", Environ: environ,
		Lstat: func(p string) (hostfs.FileInfo, error) {
			mode, ok := m.modes[p]
			if !path.IsAbs(p) {
				t.Errorf("%q is looked at", p)
			}
			if !ok {
				return hostfs.FileInfo{}, fs.ErrNotExist
			}
			sum := fnv.New32()
			sum.Write([]byte(p))
			return hostfs.FileInfo{Mode: mode, ID: policy.FileID{Ino: uint64(sum.Sum32())}}, nil
		},
		Readlink: func(p string) (string, error) { return m.texts[p], nil },
		ReadHead: func(p string, _ int) ([]byte, error) { return []byte(m.texts[p]), nil },
		ReadDir: func(p string) (out []hostfs.DirEntry, err error) {
			for file, mode := range m.modes {
				if file != "/" && path.Dir(file) == p {
					out = append(out, hostfs.DirEntry{Name: path.Base(file), Type: mode.Type()})
				}
			}
			return out, nil
		},
	}
	return m
}

func (m *machine) at(name string) string { return "/" + name }

// find searches, with answers for the programs that may be run: NAME to VERSION. A program
// without an answer must not be run.
func (m *machine) find(lang language, answers map[string]string, untrusted ...string) Found {
	m.t.Helper()
	why := func(file string) string {
		at, err := hostfs.NewLinkResolver(&m.host).Resolve(file)
		if err != nil {
			return err.Error()
		}
		names := []string{file, at.Path}
		for _, l := range at.Links {
			names = append(names, l.Path)
		}
		for _, dir := range untrusted {
			if slices.ContainsFunc(names, func(name string) bool { return policy.Within(name, m.at(dir)) }) {
				return "a server may write there"
			}
		}
		return ""
	}
	found, err := InterpreterFinder{Host: &m.host, Untrusted: why, Version: func(_ context.Context, file string) (string, error) {
		text, ok := answers[strings.TrimPrefix(file, "/")]
		if !ok {
			m.t.Errorf("%s was run", file)
		}
		return text, nil
	}}.find(context.Background(), lang)
	if err != nil {
		m.t.Error(err)
	}
	return found
}

// list writes what was found: VERSION PATH SOURCES, with * for the default.
func (m *machine) list(f Found) (out []string) {
	for _, i := range f.Interpreters {
		s := i.Version + " " + i.Path[1:] + " " + strings.Join(i.Sources, "+")
		if i.Default {
			s += " *"
		}
		out = append(out, s)
	}
	return out
}

func (m *machine) wants(name string, got Found, want ...string) {
	m.t.Helper()
	if list := m.list(got); !slices.Equal(list, want) {
		m.t.Errorf("%s:\n%s\nwant\n%s\nrefused: %v", name, strings.Join(list, "\n"), strings.Join(want, "\n"), got.Refused)
	}
}

func TestFindNodeOfVersionManagers(t *testing.T) {
	m := newMachine(t, []string{"PATH=:bin:@/usr/bin:@/none"},
		"x usr/bin/node", "l usr/bin/nodejs -> node",
		"x home/.nvm/versions/node/v9.11.2/bin/node", "x home/.nvm/versions/node/v20.11.1/bin/node", "f home/.nvm/versions/node/v20.11.2/bin/node: not executable",
		"x home/.local/share/fnm/node-versions/v22.1.0/installation/bin/node", "l home/.local/share/fnm/aliases/default -> ../node-versions/v22.1.0/installation",
		"x home/.volta/tools/image/node/18.20.0/bin/node",
		"x home/.asdf/installs/nodejs/21.0.0/bin/node",
		"x home/.local/share/mise/installs/node/24.2.0/bin/node", "l home/.local/share/mise/installs/node/24 -> ./24.2.0", "l home/.local/share/mise/installs/node/latest -> ./24.2.0",
		"x home/.nodenv/versions/16.0.0/bin/node",
		"x home/n/n/versions/node/14.0.0/bin/node",
	)
	got := m.find(Node, map[string]string{"usr/bin/node": "v20.20.2\n"})
	m.wants("all managers", got,
		"20.20.2 usr/bin/node PATH *",
		"20.11.1 home/.nvm/versions/node/v20.11.1/bin/node nvm", "9.11.2 home/.nvm/versions/node/v9.11.2/bin/node nvm",
		"22.1.0 home/.local/share/fnm/node-versions/v22.1.0/installation/bin/node fnm",
		"18.20.0 home/.volta/tools/image/node/18.20.0/bin/node volta",
		"21.0.0 home/.asdf/installs/nodejs/21.0.0/bin/node asdf",
		"24.2.0 home/.local/share/mise/installs/node/24.2.0/bin/node mise",
		"16.0.0 home/.nodenv/versions/16.0.0/bin/node nodenv",
		"14.0.0 home/n/n/versions/node/14.0.0/bin/node n")

	m = newMachine(t, []string{"PATH=@/opt/nvm/versions/node/v20.1.0/bin", "NVM_DIR=@/opt/nvm", "XDG_DATA_HOME=@/data"},
		"x opt/nvm/versions/node/v20.1.0/bin/node", "x home/.nvm/versions/node/v1.0.0/bin/node", "x data/mise/installs/node/24.0.0/bin/node")
	m.wants("variables, and PATH in a manager", m.find(Node, nil),
		"20.1.0 opt/nvm/versions/node/v20.1.0/bin/node PATH+nvm *", "24.0.0 data/mise/installs/node/24.0.0/bin/node mise")

	m = newMachine(t, []string{"PATH=@/app/1.2.3/bin:@/brew/bin"},
		"x app/1.2.3/bin/node", "x brew/Cellar/node@20/20.19.0_1/bin/node", "l brew/bin/node -> ../Cellar/node@20/20.19.0_1/bin/node")
	m.wants("Homebrew, and the version of something else", m.find(Node, map[string]string{"app/1.2.3/bin/node": "v22.0.0-nightly2025"}),
		"22.0.0-nightly2025 app/1.2.3/bin/node PATH *", "20.19.0 brew/Cellar/node@20/20.19.0_1/bin/node PATH")
}

func TestFindPython(t *testing.T) {
	m := newMachine(t, []string{"PATH=@/venv/bin:@/usr/bin"},
		"x usr/bin/python3.11", "x usr/bin/python3.9", "l usr/bin/python3 -> python3.11", "x usr/bin/python3-config", "f usr/bin/python3.8: none",
		"l venv/bin/python3 -> ../../usr/bin/python3.9", "l venv/bin/python -> python3",
		"x home/.pyenv/versions/3.12.1/bin/python3.12", "l home/.pyenv/versions/3.12.1/bin/python3 -> python3.12",
		"x home/.local/share/uv/python/cpython-3.13.2-linux-x86_64-gnu/bin/python3.13", "l home/.local/share/uv/python/cpython-3.13.2-linux-x86_64-gnu/bin/python3 -> python3.13",
		"x home/.asdf/installs/python/3.10.0/bin/python3")
	got := m.find(Python, map[string]string{"usr/bin/python3.11": "Python 3.11.2", "usr/bin/python3.9": "Python 3.9.1+"})
	m.wants("all managers", got,
		"3.9.1 usr/bin/python3.9 PATH *", "3.11.2 usr/bin/python3.11 PATH",
		"3.12.1 home/.pyenv/versions/3.12.1/bin/python3.12 pyenv",
		"3.10.0 home/.asdf/installs/python/3.10.0/bin/python3 asdf",
		"3.13.2 home/.local/share/uv/python/cpython-3.13.2-linux-x86_64-gnu/bin/python3.13 uv")
}

// TestFindBehindShims: a shim counts as the program that it would start, and never itself. Which one that is
// TestStarted of policy/resolve holds.
func TestFindBehindShims(t *testing.T) {
	pyenv := []string{"x home/.pyenv/shims/python3", "x home/.pyenv/versions/3.10.1/bin/python3", "x usr/bin/python3"}
	for version, want := range map[string]string{"3.10": "3.10.1 home/.pyenv/versions/3.10.1/bin/python3 PATH+pyenv *", "system": "3.11.2 usr/bin/python3 PATH *", "3.99": "", "3.1": ""} {
		m := newMachine(t, []string{"PATH=@/home/.pyenv/shims:@/usr/bin"}, append(slices.Clone(pyenv), "f home/.pyenv/version: "+version)...)
		found := m.find(Python, map[string]string{"usr/bin/python3": "Python 3.11.2"})
		list := m.list(found)
		isDefault := len(list) > 0 && list[0] == want
		if isDefault == (want == "") || (want == "") != (len(found.Refused) > 0) || strings.Contains(strings.Join(list, " "), "shims") {
			t.Errorf("%s: %q, refused %v", version, list, found.Refused)
		}
	}
}

func TestFindRunsNoProgramOfOthers(t *testing.T) {
	for _, c := range testkit.Table[struct{ name, environ, file, chmod, want string }](t, "find-runs-no-program-of-others.txt") {
		m := newMachine(t, []string{c.environ}, "x work/x/node", "l work/n -> ../usr/bin/node", "x usr/bin/node", "x usr/bin/snap", c.file)
		if c.chmod != "" {
			m.modes[m.at(c.chmod)] |= 0o777
		}
		answers := map[string]string{}
		if c.environ == "PATH=@/usr/bin" {
			answers["usr/bin/node"] = "hello"
		}
		got := m.find(Node, answers, "work")
		if len(m.list(got)) != 0 || len(got.Refused) != 1 || !strings.Contains(got.Refused[0].Reason, c.want) {
			t.Errorf("%s: %v, refused %v", c.name, m.list(got), got.Refused)
		}
	}
}

func TestFindEndsWithItsContext(t *testing.T) {
	m := newMachine(t, []string{"PATH=@/a"}, "x a/node")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := (InterpreterFinder{Host: &m.host}).find(ctx, Node); !errors.Is(err, context.Canceled) || len(got.Interpreters) > 0 {
		t.Error(got, err)
	}
}
