package installed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestForeignVersions tests what another user who has control over the cache directory gains:
// neither is a version of theirs believed, nor is a file of the user overwritten.
func TestForeignVersions(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"control":        func(string) error { return nil },
		"others write":   func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o777) },
		"others write 2": func(dir string) error { return os.Chmod(filepath.Join(dir, versionsFile), 0o666) },
		"another user": func(dir string) error {
			if os.Geteuid() != 0 {
				return os.Chmod(dir, 0o777)
			}
			return os.Chown(filepath.Dir(dir), 12345, 12345)
		},
		"a link": func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, versionsFile), dir+"/forged"), os.Symlink("forged", filepath.Join(dir, versionsFile)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			dir, victim := filepath.Join(home, "shared", "mcp-jail"), filepath.Join(home, "victim")
			write := func(file, text string) {
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			write(victim, "mine")
			write(filepath.Join(dir, versionsFile), `{"/usr/bin/node": {"version": "99.9.9", "stamp": "s"}}`)
			if err := errors.Join(os.Symlink(victim, fmt.Sprintf("%s/%s.%d", dir, versionsFile, os.Getpid())), spoil(dir)); err != nil {
				t.Fatal(err)
			}
			host := &hostfs.Host{CacheDir: dir}
			v := openVersions(host)
			if believed := v.known["/usr/bin/node"].Version == "99.9.9"; believed != (name == "control") {
				t.Errorf("a version is believed: %t", believed)
			}
			v.known["/usr/bin/other"], v.changed = version{"1.2.3", "s"}, true
			v.save()
			if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
				t.Errorf("the victim's file: %q, %v", b, err)
			}
			if kept := openVersions(host).known["/usr/bin/other"].Version == "1.2.3"; kept != (name == "control") {
				t.Errorf("a version is kept: %t", kept)
			}
		})
	}
}
