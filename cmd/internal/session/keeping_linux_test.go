package session

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/undo"
)

// TestKeepingFinishes tests that the files of a jail are closed when the jail cannot be started,
// and when it has ended.
func TestKeepingFinishes(t *testing.T) {
	_, _, found := changingHost(t, "undo = \"session\"\n"+changingAccess)
	state, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	k := &keeping{Store: undo.Store{Dir: filepath.Join(state, "undo"), Base: state}, Server: "s", Name: "s"}
	var last *confine.Kept
	closed := func(what string, want bool) {
		t.Helper()
		_, journal := last.Journal.Stat()
		_, data := last.Data.Stat()
		if errors.Is(journal, os.ErrClosed) != want || errors.Is(data, os.ErrClosed) != want {
			t.Errorf("%s: journal %v, data %v", what, journal, data)
		}
	}
	start := func(l confine.Launcher) (*confine.Process, error) {
		last = l.Kept
		return l.Start(t.Context(), found.Profile, confine.Stdio{})
	}

	refused := errors.New("refused")
	if _, err := k.Start(found.Profile, confine.Launcher{}, func(l confine.Launcher) (*confine.Process, error) { last = l.Kept; return nil, refused }); err != refused {
		t.Errorf("the error is %v", err)
	}
	closed("a jail that was not started", true)

	p, err := k.Start(found.Profile, confine.Launcher{}, start)
	must(t, err)
	closed("a jail that runs", false)
	must(t, p.Kill())
	p.Wait()
	closed("a jail that has ended", true)

	p, err = k.Start(found.Profile, confine.Launcher{}, start)
	must(t, err)
	closed("another jail that runs", false)
	k.Close()
	k.Close() // does nothing
	must(t, p.Kill())
	p.Wait()
	closed("a jail that outlives the session", true)
	if left, err := os.ReadDir(k.Store.Dir); err != nil || len(left) > 0 {
		t.Errorf("a session without changes has left %v, %v", left, err)
	}
}
