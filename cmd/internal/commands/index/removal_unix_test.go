//go:build unix

package index

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// removes removes servers. It returns the sentences about what stays.
func (u *user) removes(names ...string) string {
	u.t.Helper()
	all := u.look()
	var servers []*StoredServer
	for _, name := range names {
		servers = append(servers, u.server(all, name))
	}
	r, err := all.Removal(servers)
	must(u.t, err)
	must(u.t, r.Do())
	return strings.Join(r.Stays, "; ")
}

// TestRemove tests what goes with a server, and what stays because another needs it.
func TestRemove(t *testing.T) {
	u := newUser(t)
	e := u.installs("mem@latest", "mem", "2.0.0")
	u.installs("mem@2", "mem", "2.0.0")
	u.installs("", "mem", "1.0.0")
	u.runs("one", day, e)
	u.runs("two", day, e)
	u.runs("plain", day, nil)
	must(t, store.Update(session.ProposedTools(u.host), func(f *store.File) error { return f.Set(e) }))

	if stays := u.removes("one"); stays != "the package mem 2.0.0 stays, because server two uses it too" {
		t.Errorf("%s", stays)
	}
	if got := u.names(); strings.Contains(got, "one ") || !strings.Contains(got, "two") || !strings.Contains(got, "pin mem@latest") {
		t.Errorf("without one: %s", got)
	}
	if stays := u.removes("two"); stays != "the files of mem@2.0.0 stay, because mem@2 is pinned to them too" {
		t.Errorf("%s", stays)
	}
	if got := u.names(); strings.Contains(got, "two") || strings.Contains(got, "mem@latest") || !strings.Contains(got, "mem@2.0.0") || strings.Contains(got, "mem@1.0.0") {
		t.Errorf("without two: %s", got)
	}
	if f, err := store.Load(session.ProposedTools(u.host)); err != nil || len(f.Entries()) != 0 {
		t.Errorf("proposed tools are left: %v", err)
	}
	u.removes("mem", "plain")
	if got := u.names(); got != "" {
		t.Errorf("in the end: %s", got)
	}
	for _, dir := range []string{filepath.Join(u.host.StateDir, records.ServersDir), session.PackageStore(u.host).Dir} {
		d, err := private.Make(dir, ".")
		must(t, err)
		if files, _ := measure(d, "."); files != 0 && !strings.Contains(dir, "packages") {
			t.Errorf("%d files are left in %s", files, dir)
		}
	}
}

// TestRemoveHome tests that directories without the right to write go, that no link is
// followed, and that what an interrupted removal has left goes with the next one.
func TestRemoveHome(t *testing.T) {
	u := newUser(t)
	u.runs("s", day, nil)
	home := filepath.Join(records.Path(u.host, "s"), "home")
	u.plant(filepath.Join(home, "mod", "deep", "f"), "x")
	mine := filepath.Join(u.host.Home, "mine")
	u.plant(filepath.Join(mine, "f"), "x")
	must(t, os.Symlink(mine, filepath.Join(home, "link")), os.Symlink(mine, filepath.Join(home, "mod", "deep", "link")))
	must(t, os.Chmod(mine, 0o500), os.Chmod(filepath.Join(home, "mod", "deep"), 0o500), os.Chmod(filepath.Join(home, "mod"), 0o500))
	u.plant(filepath.Join(filepath.Join(u.host.StateDir, removedDir), "123", "s", "home", "old"), "x")
	if l := u.look().Leftovers; len(l) != 1 || l[0].Bytes != 1 {
		t.Errorf("leftovers: %+v", l)
	}
	u.removes("s")
	for _, gone := range []string{home, filepath.Join(u.host.StateDir, removedDir)} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s is left", gone)
		}
	}
	if st, err := os.Stat(mine); err != nil || st.Mode().Perm() != 0o500 {
		t.Errorf("behind a link: %v, %v", st, err)
	}
	if _, err := os.Stat(filepath.Join(mine, "f")); err != nil {
		t.Error(err)
	}
}

// TestRemoveRefused tests that nothing goes while something runs, or was used since.
func TestRemoveRefused(t *testing.T) {
	u := newUser(t)
	e := u.installs("mem@latest", "mem", "2.0.0")
	u.runs("s", day, e)
	all := u.look()
	r, err := all.Removal([]*StoredServer{u.server(all, "s")})
	must(t, err)
	u.ages("s", time.Second) // a session ended in the meantime
	if err := r.Do(); err == nil || !strings.Contains(err.Error(), "was used in the meantime") {
		t.Errorf("used: %v", err)
	}
	tree, err := session.PackageStore(u.host).Open(installed.ID(e))
	must(t, err)
	all = u.look()
	var inUse *inUseError
	if _, err := all.Removal(all.Servers); !errors.As(err, &inUse) {
		t.Errorf("of a package in use: %v", err)
	}
	tree.Close()
	r, err = all.Removal(all.Servers)
	must(t, err)
	records.New(u.host, "s").MarkStart() // until the test binary ends
	if err := r.Do(); err == nil || !strings.Contains(err.Error(), "was started meanwhile") {
		t.Errorf("of a server that was started: %v", err)
	}
	var running *runningError
	all = u.look()
	if _, err := all.Removal(all.Servers); !errors.As(err, &running) {
		t.Errorf("of a running server: %v", err)
	}
	if got := u.names(); got != "s pin mem@latest mem@2.0.0" {
		t.Errorf("left: %s", got)
	}
}

// TestRemoveAll tests that packages that no pin names and old stages go with every removal, and what runs stays.
func TestRemoveAll(t *testing.T) {
	u := newUser(t)
	old, fresh := u.installs("old@latest", "old", "1.0.0"), u.installs("new@latest", "new", "1.0.0")
	u.installs("", "new", "0.9.0")
	u.runs("old", 40*day, old)
	u.runs("plain", 31*day, nil)
	u.runs("new", 29*day, fresh)
	stage, err := session.PackageStore(u.host).Stage("interrupted")
	must(t, err)
	u.plant(filepath.Join(stage.Dir, "f"), "123")
	these := func() (*Removal, error) {
		all := u.look()
		var servers []*StoredServer
		for _, s := range all.Servers {
			if s.Name != "new" {
				servers = append(servers, s)
			}
		}
		return all.Removal(servers)
	}
	r, err := these()
	must(t, err)
	if len(r.Trees) != 1 || len(r.Leftovers) != 0 || len(r.Stays) != 1 || !strings.Contains(r.Stays[0], "new@0.9.0 stay, because an installation is under way") {
		t.Errorf("during an installation: trees %v, leftovers %v, stays %q", r.Trees, r.Leftovers, r.Stays)
	}
	stage.Close()
	r, err = these()
	must(t, err)
	files, bytes := r.Data()
	if len(r.Servers) != 2 || len(r.Pins) != 1 || len(r.Trees) != 2 || len(r.Leftovers) != 1 || files != 2 || bytes != 10 {
		t.Errorf("%d servers, %d pins, trees %v, leftovers %v, %d bytes of data", len(r.Servers), len(r.Pins), r.Trees, r.Leftovers, bytes)
	}
	must(t, r.Do())
	if got := u.names(); got != "new pin new@latest new@1.0.0" {
		t.Errorf("left: %s", got)
	}
	r, err = u.look().RemovalOfAll()
	must(t, err)
	must(t, r.Do())
	if got := u.names(); got != "" {
		t.Errorf("in the end: %s", got)
	}
}
