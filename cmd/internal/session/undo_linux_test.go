package session

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/undo"
)

// TestKeepingFinishes tests that the files of a jail are closed when the jail cannot be started,
// when it has ended, and at the latest when the session ends.
func TestKeepingFinishes(t *testing.T) {
	_, _, found := changingHost(t, "undo = \"session\"\n"+changingAccess)
	state, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	k := &keeping{store: undo.Store{Dir: filepath.Join(state, "undo")}, host: hostfs.Host{StateDir: state}, server: "s", name: "s"}
	closed := func(what string, f *undo.Files, want bool) {
		t.Helper()
		_, journal := f.Journal.Stat()
		_, data := f.Data.Stat()
		if errors.Is(journal, os.ErrClosed) != want || errors.Is(data, os.ErrClosed) != want || f.Finished() != want {
			t.Errorf("%s: journal %v, data %v, finished %v", what, journal, data, f.Finished())
		}
	}
	last := func() *undo.Files { return k.files[len(k.files)-1] }
	start := func(l confine.Launcher) (*confine.Process, error) {
		return l.Start(t.Context(), found.Profile, confine.Stdio{})
	}

	refused := errors.New("refused")
	if _, err := k.start(found.Profile, confine.Launcher{}, func(confine.Launcher) (*confine.Process, error) { return nil, refused }); err != refused {
		t.Errorf("the error is %v", err)
	}
	closed("a jail that was not started", last(), true)

	p, err := k.start(found.Profile, confine.Launcher{}, start)
	must(t, err)
	closed("a jail that runs", last(), false)
	must(t, p.Kill())
	p.Wait()
	closed("a jail that has ended", last(), true)

	files, err := k.jail(found.Profile)
	must(t, err)
	must(t, files.BeginCall(undo.Call{Number: 1}))
	closed("a jail that has not ended", files, false)
	if !k.close() || k.close() {
		t.Error("the first close has to end the session, and no other")
	}
	closed("at the end", files, true)
	if left, err := os.ReadDir(k.store.Dir); err != nil || len(left) > 0 {
		t.Errorf("a session without changes has left %v, %v", left, err)
	}
}
