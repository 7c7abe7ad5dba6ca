//go:build unix

package index

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/packages/installed"
)

const day = 24 * time.Hour

// TestLook tests what is known of servers: one that ran, one that ran from a package, one that
// is installed only, one that runs.
func TestLook(t *testing.T) {
	u := newUser(t)
	if got := u.names(); got != "" {
		t.Errorf("of a new user: %s", got)
	}
	e := u.installs("@a/mem@latest", "@a/mem", "1.2.3")
	u.installs("other@latest", "other", "2.0.0")
	u.installs("", "@a/mem", "1.0.0")
	u.runs("plain", 3*day, nil)
	u.runs("mem", 40*day, e)
	failed, err := diagnostics.Record{Server: "mem", Time: time.Now().Add(-41 * day), Diagnoses: []diagnostics.Diagnosis{{What: "it failed\nbadly"}}}.Encode()
	must(t, err)
	u.plant(filepath.Join(records.Path(u.host, "mem"), "failed.json"), string(failed))
	u.ages("mem", 40*day)
	running := records.New(u.host, "busy")
	running.MarkStart()

	all := u.look()
	var got []string
	for _, s := range all.Servers {
		got = append(got, s.Name)
	}
	if want := []string{"busy", "other", "plain", "mem"}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	mem := all.Servers[3]
	if len(mem.Pins) != 1 || mem.Pins[0].Spec != e.Spec || len(mem.Trees) != 1 || mem.PackageBytes() != int64(len("@a/mem 1.2.3")) || mem.HomeBytes() != 5 || mem.Records == 0 {
		t.Errorf("mem: %+v", mem)
	}
	if mem.Asked != "@a/mem@latest" || all.Servers[2].Asked != "" {
		t.Errorf("asked for: %q and %q", mem.Asked, all.Servers[2].Asked)
	}
	if mem.Failure == nil || mem.Failure.What != "it failed" || mem.Running || time.Since(mem.Used).Round(day) != 40*day {
		t.Errorf("mem: %+v, used %s", mem.Failure, mem.Used)
	}
	if !all.Servers[0].Running || all.Servers[2].Pins != nil || len(all.Servers[1].Trees) != 1 {
		t.Errorf("%+v", all.Servers)
	}
	if len(all.Unpinned) != 1 || all.Unpinned[0].ID.Version != "1.0.0" || len(all.Trees()) != 3 {
		t.Errorf("unpinned: %v", all.Unpinned)
	}
}

// TestFailurePast tests that a failure is the server's last only until a later session begins.
func TestFailurePast(t *testing.T) {
	u := newUser(t)
	failed := []diagnostics.Diagnosis{{What: "it failed"}}
	session := func(diagnoses []diagnostics.Diagnosis) *records.Recorder {
		k := records.New(u.host, "srv")
		k.MarkStart()
		if diagnoses != nil {
			k.Save(diagnostics.Record{Server: "srv", Time: time.Now(), Diagnoses: diagnoses})
			must(t, k.LastError())
		}
		return k
	}
	is := func(when string, now bool) {
		t.Helper()
		s := u.server(u.look(), "srv")
		if s.Failure == nil || s.Failure.What != "it failed" || s.Failure.Past == now {
			t.Errorf("%s: %+v", when, s.Failure)
		}
	}
	session(failed)
	is("the only session failed", true)
	u.ages("srv", time.Hour)
	later := session(nil)
	is("a later session runs", false)
	later.Save(diagnostics.Record{Server: "srv", Time: time.Now()})
	is("a later session ended well", false)
	session(failed)
	is("the session after it failed", true)
	earlier := time.Now().Add(-2 * time.Hour)
	records.New(u.host, "srv").Save(diagnostics.Record{Server: "srv", Time: earlier})
	is("a session ended well that began before the one that failed", true)
}

// TestConfiguredPin tests that a pin belongs to the configured server that uses it, and that a
// configuration that cannot be read is told.
func TestConfiguredPin(t *testing.T) {
	u := newUser(t)
	u.installs("@a/mem@latest", "@a/mem", "1.2.3")
	file := filepath.Join(u.host.ConfigDir, "config.toml")
	u.plant(file, "version = 1\n[servers.memory]\ncommand = \"npx\"\narguments = [\"-y\", \"@a/mem\"]\n")
	if got := u.names(); got != "memory pin @a/mem@latest @a/mem@1.2.3" {
		t.Errorf("%s", got)
	}
	must(t, os.WriteFile(file, []byte("nonsense"), 0o600))
	all := u.look()
	if all.ConfigErr == nil {
		t.Error("nothing is wrong with the configuration")
	}
	if _, err := all.Removal(all.Servers); err == nil || !strings.Contains(err.Error(), "configuration cannot be read") {
		t.Errorf("removed: %v", err)
	}
}

// TestLine tests the launcher's line of a pin: that of the last session, or the shortest one.
func TestLine(t *testing.T) {
	u := newUser(t)
	e := u.installs("@a/mem@latest", "@a/mem", "1.2.3")
	u.installs("@a/mem@1.0.0", "@a/mem", "1.0.0")
	u.installs("other@latest, more@latest", "other", "2.0.0")
	u.installs("solo@latest", "solo", "1.0.0")
	u.runs("mem-1", 0, e)
	all, err := KnownStored(u.host)
	must(t, err)
	var got []string
	for _, s := range all.Servers {
		for _, e := range s.Pins {
			got = append(got, e.Spec+": "+strings.Join(all.Line(s, e), " "))
		}
	}
	slices.Sort(got)
	want := []string{
		"@a/mem@1.0.0: npx -y @a/mem@1.0.0", "@a/mem@latest: npx -y @a/mem@latest",
		"other@latest, more@latest: ", "solo@latest: npx -y solo",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

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

	if stays := u.removes("one"); stays != "the package mem 2.0.0 stays: server two uses it too" {
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
	if err := r.Do(); err == nil || !strings.Contains(err.Error(), "was started, or") {
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
