//go:build unix

package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// user is a user of mcp-jail.
type user struct {
	t    *testing.T
	host hostfs.Host
}

// newUser returns a user of whom nothing is kept. Its HOME is the working directory's parent.
func newUser(t *testing.T) *user {
	t.Helper()
	home := t.TempDir()
	project := filepath.Join(home, "project")
	must(t, os.Mkdir(project, 0o700))
	t.Cleanup(func() { // trees are read-only
		filepath.WalkDir(home, func(name string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				os.Chmod(name, 0o700)
			}
			return nil
		})
	})
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Chdir(project)
	host, err := hostfs.LocalHost()
	must(t, err)
	return &user{t, host}
}

var must = testkit.Must

// plant writes a file.
func (u *user) plant(name, text string) {
	u.t.Helper()
	must(u.t, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600))
}

// installs installs a version of a package and pins it under a spec, unless that is "".
func (u *user) installs(spec, name, version string) *store.Entry {
	u.t.Helper()
	e := &store.Entry{
		Key: store.Key{Ecosystem: store.NPM, Spec: spec}, Name: name, Version: version, Pinned: time.Now().Add(-time.Hour),
		Tree: "sha256:" + strings.Repeat("0", 62) + "ab",
	}
	s := session.PackageStore(u.host)
	stage, err := s.Stage("s")
	must(u.t, err)
	defer stage.Discard()
	work := filepath.Join(stage.Dir, "work")
	u.plant(filepath.Join(work, "node_modules", "x", "index.js"), name+" "+version)
	e.Files, err = stage.Commit(store.ID{Ecosystem: "npm", Name: name, Version: version, Digest: strings.TrimPrefix(e.Tree, "sha256:")}, work)
	must(u.t, err)
	e.Files = "sha256:" + e.Files
	if spec != "" {
		must(u.t, store.Update(session.LockFile(u.host), func(f *store.File) error { return f.Set(e) }))
	}
	return e
}

// runs writes the files of a session of a server, which ended an age ago, with a file in its
// HOME.
func (u *user) runs(server string, age time.Duration, e *store.Entry) {
	u.t.Helper()
	file := filepath.Join(records.Path(u.host, server), "last.json")
	u.plant(filepath.Join(filepath.Dir(file), "home", "data"), "12345")
	k := records.New(u.host, server)
	k.About = func() (a records.About) {
		if a.Command = []string{"srv", server}; e != nil {
			a.Command, a.Package = []string{"npx", "-y", e.Spec}, &records.Package{Ecosystem: string(e.Ecosystem), Spec: e.Spec, Name: e.Name, Version: e.Version}
		}
		return a
	}
	k.Save(diagnostics.Record{Server: server, Time: time.Now().Add(-age)})
	must(u.t, k.LastError())
	u.ages(server, age)
}

// ages makes everything of a server old.
func (u *user) ages(server string, age time.Duration) {
	u.t.Helper()
	at := time.Now().Add(-age)
	must(u.t, filepath.WalkDir(records.Path(u.host, server), func(name string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(name, at, at))
	}))
}

func (u *user) look() *Stored {
	u.t.Helper()
	all, err := LookStored(u.host)
	must(u.t, err)
	return all
}

// names returns the servers of which something is kept, and the trees and pins.
func (u *user) names() string {
	u.t.Helper()
	all := u.look()
	var out []string
	for _, s := range all.Servers {
		out = append(out, s.Name)
	}
	for _, e := range all.lock.Entries() {
		out = append(out, "pin "+e.Spec)
	}
	for _, t := range all.Trees() {
		out = append(out, t.ID.String())
	}
	return strings.Join(out, " ")
}

// server returns one server.
func (u *user) server(all *Stored, name string) *StoredServer {
	u.t.Helper()
	s := all.Server(name)
	if s == nil {
		u.t.Fatalf("nothing is kept of %s", name)
	}
	return s
}
