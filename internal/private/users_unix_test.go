//go:build unix

package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stranger is a user without an account.
const stranger = 12345

// TestStranger tests directories, links and files of another user, which root alone can make. What
// that user gains is nothing: neither a file is read nor one written.
func TestStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("one user cannot give files away: TestOthers has modes that let others write")
		return
	}
	for _, owned := range []string{"xdg", "xdg/mcp-jail", "xdg/mcp-jail/kept", "xdg/mcp-jail/kept/file", "link"} {
		top := t.TempDir()
		must(t, os.MkdirAll(top+"/xdg/mcp-jail/kept", 0o700))
		must(t, os.WriteFile(top+"/xdg/mcp-jail/kept/file", []byte("forged"), 0o600))
		must(t, os.Symlink(top+"/xdg", top+"/link"))
		base := filepath.Join(top, "xdg/mcp-jail")
		if owned == "link" {
			base = filepath.Join(top, "link/mcp-jail")
		}
		if b, err := ReadFile(base, "kept/file", 100); err != nil || string(b) != "forged" {
			t.Errorf("%s: control: %q, %v", owned, b, err)
		}
		must(t, os.Lchown(filepath.Join(top, owned), stranger, stranger))
		at := filepath.Join(top, owned)
		_, err := ReadFile(base, "kept/file", 100)
		refused(t, err, at, "belongs to user 12345, and you are user root (0)")
		d, err := Make(base, "kept")
		if err == nil {
			defer d.Close()
			err = d.Replace("file", []byte("mine"), How{})
		}
		refused(t, err, at, "belongs to user 12345")
		_, _, err = Follow(filepath.Join(base, "kept/file"))
		refused(t, err, at, "belongs to user 12345")
		if b, err := os.ReadFile(top + "/xdg/mcp-jail/kept/file"); err != nil || string(b) != "forged" {
			t.Errorf("%s: %q, %v", owned, b, err)
		}
	}
}

// TestFifo tests that a fifo blocks nothing.
func TestFifo(t *testing.T) {
	d, err := Make(t.TempDir(), "d")
	must(t, err)
	defer d.Close()
	if err := syscall.Mkfifo(d.at("fifo"), 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := d.ReadFile("fifo", 10); !errors.Is(err, ErrIrregular) {
		t.Errorf("%v", err)
	}
}

// TestUmask tests that the umask decides no mode: with 0 nothing is open to others, and with 0777
// the file can be read again.
func TestUmask(t *testing.T) {
	for _, mask := range []int{0, 0o077} {
		base := t.TempDir()
		must(t, os.Chmod(base, 0o700))
		before := syscall.Umask(mask)
		d, err := Make(base, "d")
		if err == nil {
			err = errors.Join(d.Replace("own", nil, How{}), d.Replace("for-all", nil, How{Mode: 0o644}))
		}
		syscall.Umask(before)
		must(t, err)
		defer d.Close()
		for name, want := range map[string]fs.FileMode{"own": 0o600, "for-all": 0o644} {
			if info, err := d.Lstat(name); err != nil || info.Mode() != want {
				t.Errorf("umask %#o: %s: %v, %v", mask, name, info, err)
			}
		}
	}
}

// TestFull tests that a full disk, here a limit on the size of files, leaves the old file, and no
// other. The log of package testing counts against the limit.
func TestFull(t *testing.T) {
	d, err := Make(t.TempDir(), "d")
	must(t, err)
	defer d.Close()
	must(t, d.Replace("f", []byte("old"), How{}))
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: before.Max}))
	err = d.Replace("f", make([]byte, 2<<20), How{})
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	if err == nil || !strings.Contains(err.Error(), d.at("f")) {
		t.Errorf("%v", err)
	}
	if b, err := d.ReadFile("f", 10); err != nil || string(b) != "old" {
		t.Errorf("%q, %v", b, err)
	}
	if entries, _ := d.Names(); len(entries) != 1 {
		t.Errorf("%v", entries)
	}
}

// TestOthers tests that nothing is used which others may write, or could replace.
func TestOthers(t *testing.T) {
	top := t.TempDir()
	for _, c := range []struct{ wide, below, text string }{
		{"home", "home/state", "may be written by other users (mode 0777)"},
		{"home/state", "home/state", "chmod go-w"},
		{"home/state/servers", "home/state", "may be written"},
	} {
		must(t, os.MkdirAll(filepath.Join(top, "home/state/servers"), 0o700))
		must(t, os.WriteFile(filepath.Join(top, "home/state/servers/f"), nil, 0o600))
		must(t, os.Chmod(filepath.Join(top, c.wide), 0o777))
		base := filepath.Join(top, c.below)
		_, err := Open(base, "servers")
		refused(t, err, filepath.Join(top, c.wide), c.text)
		_, err = Make(base, "servers/new")
		refused(t, err, filepath.Join(top, c.wide), c.text)
		_, err = ReadFile(base, "servers/f", 10)
		refused(t, err, filepath.Join(top, c.wide), c.text)
		_, _, err = Follow(base + "/servers/f")
		refused(t, err, filepath.Join(top, c.wide), c.text)
		must(t, os.Chmod(filepath.Join(top, c.wide), 0o700))
	}
	must(t, os.Chmod(top+"/home/state/servers/f", 0o666))
	_, err := ReadFile(top+"/home/state", "servers/f", 10)
	refused(t, err, top+"/home/state/servers/f", "mode 0666")
	must(t, os.Chmod(top+"/home/state/servers/f", 0o600))
	must(t, os.Chmod(top+"/home", 0o777|fs.ModeSticky)) // as /tmp: others replace only what is theirs
	if _, err := ReadFile(top+"/home/state", "servers/f", 10); err != nil {
		t.Errorf("control: %v", err)
	}
}
