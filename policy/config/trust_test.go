package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestTrustStore(t *testing.T) {
	dir := t.TempDir()
	store := TrustStore{Path: filepath.Join(dir, "deep", "trust.toml")}
	odd := filepath.Join(dir, "a \"b\" ü\n#[x].toml")
	if runtime.GOOS == "windows" { // no name has these characters there
		odd = filepath.Join(dir, "a 'b' ü#[x].toml")
	}
	testkit.WriteFile(t, odd, "x")
	testkit.Must(t, store.Trust(odd, []byte("x")))
	testkit.Must(t, store.Trust(filepath.Join(dir, "other"), []byte("y")))
	if err := store.Check(odd, []byte("x")); err != nil {
		t.Errorf("an odd name: %v", err)
	}
	if err := store.Check(odd, []byte("X")); err == nil {
		t.Error("other content was accepted")
	}
	if err := store.Check(filepath.Join(dir, "other"), []byte("x")); err == nil {
		t.Error("content was accepted under another name")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "deep", ".trust*")); len(left) != 0 {
		t.Errorf("litter: %v", left)
	}
	if runtime.GOOS == "windows" {
		return
	}
	// The file has the same entry under every path that leads to it.
	testkit.Must(t, os.Symlink(dir, filepath.Join(dir, "link")))
	for _, name := range []string{"link/other", "./other", "link/./other"} {
		if err := store.Check(dir+"/"+name, []byte("y")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	info, err := os.Stat(store.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the store: %v, %v", info.Mode(), err)
	}
	for name, mode := range map[string]fs.FileMode{store.Path: 0o602, filepath.Dir(store.Path): 0o702} {
		before, _ := os.Stat(name)
		testkit.Must(t, os.Chmod(name, mode))
		for what, err := range map[string]error{"Check": store.Check(odd, []byte("x")), "Trust": store.Trust(odd, []byte("x")), "Untrust": store.Untrust(odd)} {
			if err == nil || !strings.Contains(err.Error(), "may be written by other users") {
				t.Errorf("%s with %s %v: %v", what, name, mode, err)
			}
		}
		os.Chmod(name, before.Mode().Perm())
	}
	if canGive(t) {
		for _, name := range []string{store.Path, filepath.Dir(store.Path)} {
			testkit.Must(t, os.Chown(name, 12345, 12345))
			if err := store.Check(odd, []byte("x")); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
				t.Errorf("%s of another user: %v", name, err)
			}
			os.Chown(name, 0, 0)
		}
		if err := store.Check(odd, []byte("x")); err != nil {
			t.Errorf("given back: %v", err)
		}
	}
	testkit.Must(t, store.Untrust(odd))
	if err := store.Untrust(odd); !errors.Is(err, fs.ErrNotExist) || store.Check(odd, []byte("x")) == nil {
		t.Errorf("untrusting twice: %v", err)
	}
	testkit.WriteFile(t, store.Path, "[trusted]\nx = 1\nbroken")
	if err := store.Check(odd, []byte("x")); err == nil || !strings.Contains(err.Error(), "trust.toml:3") {
		t.Errorf("a broken store: %v", err)
	}
}

// TestUntrustedLines: the advice names no file that the shell would read in another way.
func TestUntrustedLines(t *testing.T) {
	if got := (&UntrustedError{File: "/w/a b/.mcp-jail.toml"}).Error(); !strings.HasSuffix(got, "\n  "+show.Typed("mcp-jail trust", "/w/a b/.mcp-jail.toml")) {
		t.Error(got)
	}
	for _, name := range []string{"\x1b]0;P\x07", "\u009b2J", "\u202e", "a\nb", "a\tb"} {
		got := (&UntrustedError{File: "/w/" + name + "/.mcp-jail.toml"}).Error()
		if strings.Contains(got, name) || strings.Count(got, "\n") != 2 {
			t.Errorf("%q", got)
		}
	}
}
