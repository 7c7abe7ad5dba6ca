package table

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// layers are the files of a configuration in a directory of the test.
type layers struct {
	config.LoadOptions
	host  hostfs.Host
	state string
}

func newLayers(t *testing.T, user, project string) layers {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := layers{config.LoadOptions{System: dir + "/etc.toml", User: dir + "/user.toml", Trust: dir + "/state/trust.toml", Workspace: dir + "/work"}, hostfs.Host{}, dir + "/state"}
	if l.host, err = hostfs.LocalHost(); err != nil {
		t.Fatal(err)
	}
	l.host.Home, l.host.Dir = dir+"/home", dir+"/work"
	for _, name := range []string{l.Workspace, l.host.Home, l.state} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{l.User: user, l.project(): project} {
		if text != "" {
			l.write(t, name, text)
		}
	}
	return l
}

func (l layers) project() string { return filepath.Join(l.Workspace, config.ProjectFile) }

func (l layers) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func (l layers) trust(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(l.project())
	if err == nil {
		err = config.TrustStore{Path: l.Trust}.Trust(l.project(), data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (l layers) find(t *testing.T) []*Place {
	t.Helper()
	places, err := Find(l.LoadOptions, l.host, "x")
	if err != nil {
		t.Fatal(err)
	}
	return places
}

const (
	userTable    = "[servers.x]\ncommand = \"/bin/true\"\n[[servers.x.access.fs]]\npath = \"/srv\"\nread = true\n"
	projectTable = "[[servers.x.access.fs]]\npath = \"sub\"\nread = true\n"
)

// TestPlaces tests that each layer with the table is found, and changed alone.
func TestPlaces(t *testing.T) {
	l := newLayers(t, userTable, projectTable)
	l.trust(t)
	places := l.find(t)
	if len(places) != 2 || places[0].Path != l.User || places[0].Line != 1 || places[0].Project || places[1].Path != l.project() || !places[1].Project {
		t.Fatalf("%+v", places)
	}
	for i, p := range places {
		e, err := p.Edit(Change{Flags: []string{"--write", "~/notes"}})
		if err != nil {
			t.Fatal(err)
		}
		before := string(p.Text())
		backup, err := e.Write(l.state, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(p.Path)
		after, _ := os.ReadFile(p.Path)
		kept, _ := os.ReadFile(backup)
		if err != nil || info.Mode() != 0o640 || string(after) != string(e.Text) || !strings.Contains(string(after), "~/notes") || string(kept) != before {
			t.Errorf("%v, %v\n%s\n%s", err, info.Mode(), after, kept)
		}
		// What the other layer grants is said.
		other, err := places[1-i].Edit(Change{Flags: []string{"--read", "~/notes/a"}})
		if want := p.Path + ":"; err != nil || len(other.Already) != 1 || !strings.HasPrefix(other.Already[0], want) {
			t.Errorf("%v, %v", other, err)
		}
		e, err = l.find(t)[i].Edit(Change{Flags: []string{"--write", "~/notes"}, Remove: true})
		if err == nil {
			_, err = e.Write(l.state, time.Now())
		}
		if err != nil || string(e.Text) != before {
			t.Errorf("%v\n%s", err, e.Text)
		}
	}
	// A project's server starts in the project, and where the user's own starts is not known.
	elsewhere := l
	elsewhere.host.Dir = ""
	if places := elsewhere.find(t); places[0].Dir() != "" || places[1].Dir() != filepath.Dir(l.project()) {
		t.Errorf("they start in %q and %q", places[0].Dir(), places[1].Dir())
	}
	// The project's file is trusted as it is now.
	if _, err := config.Load(l.LoadOptions); err != nil {
		t.Error(err)
	}
}

// TestClosed tests which files are not changed.
func TestClosed(t *testing.T) {
	change := Change{Flags: []string{"--read", "more"}}
	for name, c := range map[string]struct {
		want  string
		spoil func(t *testing.T, l layers)
	}{
		"not trusted":       {"is not trusted: read it and trust it first, with  mcp-jail trust ", func(*testing.T, layers) {}},
		"changed since":     {"has changed since you trusted it", func(t *testing.T, l layers) { l.trust(t); l.write(t, l.project(), projectTable+"# more\n") }},
		"a link":            {"is a symbolic link to ", func(t *testing.T, l layers) { link(t, l) }},
		"read-only":         {"it is read-only", func(t *testing.T, l layers) { l.trust(t); chmod(t, l.project(), 0o440) }},
		"several names":     {"hard links", func(t *testing.T, l layers) { l.trust(t); must(t, os.Link(l.project(), l.host.Home+"/other")) }},
		"control":           {"", func(t *testing.T, l layers) { l.trust(t) }},
		"another has it":    {"belongs to user", func(t *testing.T, l layers) { l.trust(t); foreign(t, l.project()) }},
		"it is a directory": {"regular file", func(t *testing.T, l layers) { must(t, os.Remove(l.project()), os.Mkdir(l.project(), 0o700)) }},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLayers(t, userTable, projectTable)
			c.spoil(t, l)
			before, _ := os.ReadFile(l.project())
			places, err := Find(l.LoadOptions, l.host, "x")
			if err == nil {
				_, err = places[1].Edit(change)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if after, _ := os.ReadFile(l.project()); string(after) != string(before) {
				t.Errorf("the file has changed:\n%s", after)
			}
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, name string, mode os.FileMode) { t.Helper(); must(t, os.Chmod(name, mode)) }

func foreign(t *testing.T, name string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	must(t, os.Chown(name, 12345, 12345))
}

func link(t *testing.T, l layers) {
	t.Helper()
	must(t, os.Rename(l.project(), l.host.Home+"/real"), os.Symlink(l.host.Home+"/real", l.project()))
	l.trust(t)
}

// TestLost tests that a change is not written over another one, and that trust that was taken back is
// not given again.
func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, l layers)
		changed   bool
	}{
		"the file": {func(t *testing.T, l layers) { l.write(t, l.project(), projectTable+"# more\n"); l.trust(t) }, true},
		"trust":    {func(t *testing.T, l layers) { must(t, config.TrustStore{Path: l.Trust}.Untrust(l.project())) }, false},
		"a link":   {link, true},
	} {
		l := newLayers(t, userTable, projectTable)
		l.trust(t)
		e, err := l.find(t)[1].Edit(Change{Flags: []string{"--read", "more"}})
		must(t, err)
		c.meanwhile(t, l)
		before, _ := os.ReadFile(l.project())
		_, err = e.Write(l.state, time.Now())
		if after, _ := os.ReadFile(l.project()); err == nil || errors.Is(err, ownfile.ErrChanged) != c.changed || string(after) != string(before) {
			t.Errorf("%s: %v\n%s", name, err, after)
		}
		if (config.TrustStore{Path: l.Trust}).Check(l.project(), e.Text) == nil {
			t.Errorf("%s: what was not written is trusted", name)
		}
	}
}

// TestProjects tests grants in a project's file: what a lower layer refuses, and what would make it a
// server of the project's own.
func TestProjects(t *testing.T) {
	l := newLayers(t, userTable+"[[servers.x.access.fs]]\npath = \"/srv/private\"\n", projectTable)
	l.trust(t)
	for flags, want := range map[string]string{
		"--read /srv/private/a": "the path /srv/private/a would not be granted",
		"--env TOKEN":           "declares its own server",
		"--read /srv/other":     "",
		"--net a.example":       "",
	} {
		_, err := l.find(t)[1].Edit(Change{Flags: strings.Fields(flags)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flags, err, want)
		}
	}
}
