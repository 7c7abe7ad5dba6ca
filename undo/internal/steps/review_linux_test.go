package steps

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/keeper"
)

// TestReview tests the steps for files that a server has made, changed and removed, for one that
// its user has changed since, and for those at which the server could write none.
func TestReview(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	write := func(name, text string) { t.Helper(); testkit.Must(t, os.WriteFile(at(name), []byte(text), 0o600)) }
	for _, name := range []string{"changed", "removed", "users", "same"} {
		write(name, "before")
	}
	store := journal.Store{Dir: filepath.Join(t.TempDir(), "undo")}
	w, err := store.Begin(journal.Head{Server: "s"})
	testkit.Must(t, err)
	files, err := w.Jail([]string{root})
	testkit.Must(t, err)
	self, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	testkit.Must(t, err)
	defer unix.Close(self)
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	testkit.Must(t, err)
	defer unix.Close(dir)
	k := &keeper.Keeper{Journal: int(files.Journal.Fd()), Data: int(files.Data.Fd()), SelfFD: self, FileBytes: 1 << 20, TotalBytes: 1 << 30}
	for _, name := range []string{"changed", "removed", "users", "made"} {
		k.Name(dir, name, at(name), name != "made")
	}
	for _, name := range []string{"changed", "users", "made"} {
		write(name, "the server's")
	}
	outside := map[string]string{root + "-beside": "outside of what the server could write", filepath.Dir(root): "outside of what the server could write", "a/relative": "invalid argument"}
	for p := range outside {
		k.Name(dir, "nothing", p, false)
	}
	testkit.Must(t, os.Remove(at("removed")))
	files.Finish()
	w.Close()
	time.Sleep(10 * time.Millisecond) // the clock of inodes is coarse
	write("users", "the user's")

	s, err := store.Session(w.ID())
	testkit.Must(t, err)
	got := map[string]Step{}
	for _, step := range NewReview(s, journal.Selection{}).Steps {
		got[filepath.Base(step.Path)] = step
	}
	for name, want := range map[string]Action{"changed": Restore, "removed": Restore, "made": Remove, "users": Refuse, "same": ""} {
		if got[name].Action != want {
			t.Errorf("%s: %+v", name, got[name])
		}
	}
	if why := got["users"].Why; !strings.Contains(why, "changed after the server's last change") {
		t.Errorf("refused: %q", why)
	}
	for p, why := range outside {
		if step := got[filepath.Base(p)]; step.Path != p || step.Action != Refuse || !strings.Contains(step.Why, why) {
			t.Errorf("%s: %+v", p, step)
		}
	}
	if only := NewReview(s, journal.Selection{Paths: []string{at("made")}}).Steps; len(only) != 1 || only[0].Path != at("made") {
		t.Errorf("of one path: %+v", only)
	}
}
