package commands

import (
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo"
)

// TestUndoText: what a killed undo has left is no file that the server changed.
func TestUndoText(t *testing.T) {
	u := &undoCmd{index: &index.Index{}}
	s := &undo.Session{Head: undo.Head{Server: "notes"}}
	left := undo.Step{Path: "/w/.mcp-jail-undo-x", Action: undo.Clear}
	const said = "An undo that was killed has left this, and it is removed:\n  /w/.mcp-jail-undo-x\n"
	testkit.Equal(t, "alone", u.text(s, []undo.Step{left}), said)
	testkit.Equal(t, "beside a file", u.text(s, []undo.Step{{Path: "/w/a", Action: undo.Restore}, left}),
		"notes changed 1 file "+cli.DayText(time.Now(), s.Started)+". Your earlier version comes back:\n  /w/a\n"+said+"What is there now is stored, so you can undo this too.\n")
}

// TestUndoAgain: the line that restores a skipped path is about the same session and call.
func TestUndoAgain(t *testing.T) {
	u := &undoCmd{index: &index.Index{}, session: "s1", call: 3}
	s := &undo.Session{ID: "s1", Head: undo.Head{Server: "notes"}}
	skipped := undo.Step{Path: "/w/a b", Action: undo.Refuse, Why: "it was changed after the server's last change", Foreign: true}
	testkit.Equal(t, "", u.text(s, []undo.Step{skipped}), "notes changed 1 file "+cli.DayText(time.Now(), s.Started)+". This is skipped:\n  /w/a b: "+skipped.Why+
		"\nTo restore such a file all the same, name it:\n  mcp-jail undo --session s1 --call 3 notes '/w/a b'\n")
}

// TestUndoForbidden: where no policy of the server can be told, what has a protected name does not come back.
func TestUndoForbidden(t *testing.T) {
	forbidden := (&undoCmd{index: &index.Index{}}).forbidden("removed")
	testkit.Equal(t, "a hook", forbidden("/w/.git/hooks/pre-commit"), "the server's policy protects this name now")
	testkit.Equal(t, "a file", forbidden("/w/a"), "")
}
