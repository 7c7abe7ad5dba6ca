package wrapping

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// codexFile makes a home directory with a file of Codex, and returns the file's path.
func codexFile(t *testing.T) (host clients.Host, path string) {
	t.Helper()
	host = newHost(t)
	path = filepath.Join(host.Home, ".codex/config.toml")
	write(t, path, "[mcp_servers.notes]\ncommand = \"/bin/cat\"\n[mcp_servers.notes.env]\nTOKEN = \"s3cret\"\n")
	return host, path
}

// TestBackups tests the names of copies in one second, and their modes.
func TestBackups(t *testing.T) {
	host, path := codexFile(t)
	f := only(t, host, Selection{Files: []string{path}})
	state := filepath.Join(host.Home, "state")
	now := time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC)
	for _, number := range []string{"", "-2", "-3"} {
		got, err := keepCopy(state, f.own, now)
		must(t, err)
		if want := "-config.toml.20261123T010203Z" + number + ".mcp-jail-backup"; filepath.Dir(got) != filepath.Join(state, backupsDir) || !strings.HasSuffix(got, want) {
			t.Errorf("%s, want …%s", got, want)
		}
		if b, err := os.ReadFile(got); err != nil || string(b) != string(f.own.Data) {
			t.Errorf("%q, %v", b, err)
		}
		if info, err := os.Lstat(got); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if info, err := os.Lstat(state); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := openCopy(state, path); err == nil {
		t.Error("a file that is no copy is read as one")
	}
}

// TestForeignState tests that wrap changes no file where its copy, with the tokens in it, or the
// record of the change would go to another user: through a link, or into a directory of theirs.
func TestForeignState(t *testing.T) {
	for name, spoil := range map[string]func(state, elsewhere string) error{
		"control":                  func(string, string) error { return nil },
		"backups is a link":        func(state, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(state, backupsDir)) },
		"wrapped is a link":        func(state, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(state, wrappedDir)) },
		"others write the state":   func(state, _ string) error { return os.Chmod(state, 0o777) },
		"others write the backups": func(state, _ string) error { return openDir(filepath.Join(state, backupsDir)) },
		"others write the records": func(state, _ string) error { return openDir(filepath.Join(state, wrappedDir)) },
		"another user has it": func(state, _ string) error {
			if os.Geteuid() != 0 {
				return os.Chmod(state, 0o777)
			}
			return os.Chown(state, 12345, 12345)
		},
	} {
		t.Run(name, func(t *testing.T) {
			host, path := codexFile(t)
			state, elsewhere := filepath.Join(host.Home, "state"), filepath.Join(host.Home, "elsewhere")
			must(t, errors.Join(os.Mkdir(state, 0o700), os.Mkdir(elsewhere, 0o700), spoil(state, elsewhere)))
			before, err := os.ReadFile(path)
			must(t, err)
			f := only(t, host, Selection{Files: []string{path}})
			_, err = f.Wrap(Program{Path: program}, Selection{}, host, newIDs(host)).Write(state, time.Now())
			after, _ := os.ReadFile(path)
			if name == "control" {
				if r, recorded := f.Backup(state); err != nil || string(after) == string(before) || recorded != nil || r == nil {
					t.Fatalf("%v, %v, %+v", err, recorded, r)
				}
				return
			}
			var owner *hostfs.OwnerError
			if !errors.As(err, &owner) || string(after) != string(before) {
				t.Errorf("%v; the file is %q", err, after)
			}
			if there, err := os.ReadDir(elsewhere); err != nil || len(there) != 0 {
				t.Errorf("%v, %v", there, err)
			}
		})
	}
}

// TestForeignRecord tests that no record or copy of another user is believed.
func TestForeignRecord(t *testing.T) {
	host, path := codexFile(t)
	state := filepath.Join(host.Home, "state")
	f := only(t, host, Selection{Files: []string{path}})
	_, err := f.Wrap(Program{Path: program}, Selection{}, host, newIDs(host)).Write(state, time.Now())
	must(t, err)
	r, err := f.Backup(state)
	if err != nil || f.Original(state, r) == "" {
		t.Fatalf("control: %v, %+v", err, r)
	}
	records, backups := filepath.Join(state, wrappedDir), filepath.Join(state, backupsDir)
	must(t, os.Chmod(records, 0o777))
	var owner *hostfs.OwnerError
	if _, err := f.Backup(state); !errors.As(err, &owner) {
		t.Errorf("a record that others may write: %v", err)
	}
	must(t, errors.Join(os.Rename(backups, backups+"2"), os.Symlink(backups+"2", backups)))
	if got := f.Original(state, r); got != "" {
		t.Errorf("a copy behind a link: %s", got)
	}
}

// openDir makes a directory that everybody may write.
func openDir(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)) }

// TestOldBackups tests which copies of a file stay after many changes, and which after RemoveBackups.
func TestOldBackups(t *testing.T) {
	host, path := codexFile(t)
	state := filepath.Join(host.Home, "state")
	copies := func() (names []string) {
		entries, err := os.ReadDir(filepath.Join(state, backupsDir))
		must(t, err)
		for _, e := range entries {
			_, name, _ := strings.Cut(e.Name(), "-config.toml.20261123T01")
			names = append(names, strings.TrimSuffix(name, copySuffix))
		}
		return names
	}
	at := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	text := ""
	for i := range 7 {
		text += fmt.Sprintf("[mcp_servers.s%d]\ncommand = \"/bin/cat\"\n", i)
	}
	write(t, path, text)
	for i := range 7 { // one server after the other
		f := only(t, host, Selection{Files: []string{path}})
		_, err := f.Wrap(Program{Path: program}, Selection{Servers: []string{fmt.Sprintf("s%d", i)}}, host, newIDs(host)).Write(state, at.Add(time.Duration(i)*time.Minute))
		must(t, err)
	}
	if got := strings.Join(copies(), " "); got != "0000Z 0300Z 0400Z 0500Z 0600Z" {
		t.Errorf("after seven changes: %s", got)
	}
	for _, step := range []struct {
		name string
		do   func() error
		want int
	}{
		{"a server is wrapped", func() error { return nil }, 0},
		{"the file is gone", func() error { return os.Remove(path) }, 5},
		{"again", func() error { return nil }, 0},
	} {
		must(t, step.do())
		if removed, err := RemoveBackups(state); removed != step.want || err != nil {
			t.Errorf("%s: removed %d, %v", step.name, removed, err)
		}
	}
}

// TestOriginal: the original is the copy of the file from before the first wrap, and not one that
// a later change has made.
func TestOriginal(t *testing.T) {
	const original = "[mcp_servers.notes]\ncommand = '/bin/cat'\nargs = [ # of cat\n  '-u',\n]\n\n[mcp_servers.more]\ncommand = \"/bin/echo\"\n"
	now := time.Now()
	type world struct {
		path, state string
		host        clients.Host
		last        *Change
	}
	file := func(w *world) *File { return only(t, w.host, Selection{Files: []string{w.path}}) }
	save := func(w *world, c *Change) {
		now = now.Add(time.Minute) // each copy has a name of its own
		_, err := c.Write(w.state, now)
		must(t, err)
		w.last = c
	}
	wrap := func(w *world) {
		save(w, file(w).Wrap(Program{Path: program}, Selection{}, w.host, newIDs(w.host)))
	}
	unwrap := func(w *world, servers ...string) { save(w, file(w).Unwrap(Selection{Servers: servers})) }
	text := func(name string) string {
		b, err := os.ReadFile(name)
		must(t, err)
		return string(b)
	}
	paste := func(w *world) {
		now := text(w.path)
		open, end := strings.Index(now, "args = ["), strings.Index(now, "]\n\n")
		write(t, w.path, now[:open]+`args = ["run", "--name", "notes", "--read", "/a", "--", "/bin/cat", "-u"`+now[end:])
	}
	newer := strings.Replace(original, "-u", "-v", 1)
	for _, tt := range []struct {
		name    string
		do      func(w *world)
		differs bool
		want    string // the original; "" for none
	}{
		{"as wrap left it", func(*world) {}, false, original},
		{"a pasted list", paste, true, original},
		{"a later change between", func(w *world) { paste(w); unwrap(w, "more"); wrap(w) }, true, original},
		{"twice to and fro", func(w *world) { paste(w); unwrap(w); wrap(w) }, false, strings.Replace(strings.Replace(original, "'/bin/cat'", `"/bin/cat"`, 1), "[ # of cat\n  '-u',\n]", `["-u"]`, 1)},
		{"a new file", func(w *world) { write(t, w.path, newer); wrap(w) }, false, newer},
		{"the copies are gone", func(w *world) { paste(w); must(t, os.RemoveAll(filepath.Join(w.state, backupsDir))) }, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &world{host: newHost(t)}
			w.path, w.state = filepath.Join(w.host.Home, ".codex/config.toml"), filepath.Join(w.host.Home, "state")
			write(t, w.path, original)
			wrap(w)
			if r, err := file(w).Backup(w.state); err != nil || w.last.Differs(w.state, w.last.File.Original(w.state, r)) {
				t.Error("a wrapped file is compared")
			}
			tt.do(w)
			unwrap(w)
			f := file(w)
			r, err := f.Backup(w.state)
			must(t, err)
			copied := f.Original(w.state, r)
			if got := copied; tt.want == "" && got != "" || tt.want != "" && text(got) != tt.want {
				t.Errorf("the original is %q", got)
			}
			if got := w.last.Differs(w.state, copied); got != tt.differs {
				t.Errorf("differs: %t:\n%s", got, text(w.path))
			}
		})
	}
}
