//go:build unix

package profilefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestWrite: the file is there for this user until it is removed, and its directory with it.
func TestWrite(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	f, err := Write(&policy.Profile{}, "a profile")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(f.Name)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if text, err := os.ReadFile(f.Name); string(text) != "a profile" {
		t.Errorf("%q, %v", text, err)
	}
	f.Remove()
	if _, err := os.Stat(filepath.Dir(f.Name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its directory is left: %v", err)
	}
}

// TestWriteGranted: a server that may read mcp-jail's own files is not started.
func TestWriteGranted(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	real, err := filepath.EvalSymlinks(state)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Write(&policy.Profile{Entries: []policy.Entry{{Path: real, Kind: policy.KindDir, Rights: policy.Read}}}, "a profile")
	var refused *step.Error
	if !errors.As(err, &refused) || refused.Step != step.Spec {
		t.Errorf("%v", err)
	}
	f.Remove()
}

// TestRemoveLeft: the profile of a launcher that has ended is removed by a later start, and neither one that is in use
// nor a young one, which may not be locked yet.
func TestRemoveLeft(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var files [3]File
	for i := range files {
		f, err := Write(&policy.Profile{}, "a profile")
		if err != nil {
			t.Fatal(err)
		}
		files[i] = f
	}
	left, young, used := files[0], files[1], files[2]
	left.unlock()
	young.unlock()
	for _, f := range []File{left, used} {
		if err := os.Chtimes(filepath.Dir(f.Name), time.Time{}, time.Now().Add(-2*leftAfter)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Write(&policy.Profile{}, "another"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		File
		is bool
	}{{"left", left, false}, {"young", young, true}, {"in use", used, true}} {
		if _, err := os.Stat(c.Name); (err == nil) != c.is {
			t.Errorf("the one that is %s: %v", c.what, err)
		}
	}
}
