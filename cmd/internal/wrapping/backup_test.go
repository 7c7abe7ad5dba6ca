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

// TestBackups tests the names of copies, and their modes.
func TestBackups(t *testing.T) {
	host, path := codexFile(t)
	f := only(t, host, Selection{Files: []string{path}})
	state := filepath.Join(host.Home, "state")
	now := time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC)
	for i, fraction := range []string{".000000000", ".000000001"} {
		got, err := keepCopy(state, f.own, now.Add(time.Duration(i)))
		must(t, err)
		if want := "-config.toml.20261123T010203" + fraction + "Z.mcp-jail-backup"; filepath.Dir(got) != filepath.Join(state, backupsDir) || !strings.HasSuffix(got, want) {
			t.Errorf("after %d ns: %s, want …%s", i, got, want)
		}
		if b, err := os.ReadFile(got); err != nil || string(b) != string(f.own.Data) {
			t.Errorf("after %d ns: %q, %v", i, b, err)
		}
		if info, err := os.Lstat(got); err != nil || info.Mode() != 0o600 {
			t.Errorf("after %d ns: %v, %v", i, info, err)
		}
	}
	if info, err := os.Lstat(state); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestForeignState tests that wrap changes no file where its copy, with the tokens in it,
// would go to another user: through a link, or into a directory of theirs.
func TestForeignState(t *testing.T) {
	for name, spoil := range map[string]func(state, elsewhere string) error{
		"control":                  func(string, string) error { return nil },
		"backups is a link":        func(state, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(state, backupsDir)) },
		"others write the state":   func(state, _ string) error { return os.Chmod(state, 0o777) },
		"others write the backups": func(state, _ string) error { return openDir(filepath.Join(state, backupsDir)) },
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
				if err != nil || string(after) == string(before) {
					t.Fatal(err)
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
			names = append(names, strings.TrimSuffix(name, ".000000000Z"+copySuffix))
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
	if got := strings.Join(copies(), " "); got != "0000 0300 0400 0500 0600" {
		t.Errorf("after seven changes: %s", got)
	}
	if err := RemoveBackups(state); err != nil || len(copies()) > 0 {
		t.Errorf("%v, %s", err, copies())
	}
}
