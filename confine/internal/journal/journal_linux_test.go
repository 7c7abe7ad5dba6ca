package journal

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/undo"
)

// TestJournalKeeps tests at which paths changes are kept: where a rule lets the server change the user's
// own files, and not where what it writes is its own.
func TestJournalKeeps(t *testing.T) {
	k := Journal{keeper: &undo.Keeper{}, profile: &policy.Profile{Entries: []policy.Entry{
		{Path: "/copy", Rights: policy.AllRights, Origin: policy.OriginHome, Ephemeral: true},
		{Path: "/copy/real", Rights: policy.AllRights, Origin: policy.OriginRule},
		{Path: "/home", Rights: policy.AllRights, Origin: policy.OriginHome},
		{Path: "/real", Rights: policy.AllRights, Origin: policy.OriginRule},
		{Path: "/usr", Rights: policy.AllRights, Origin: policy.OriginBaseline},
	}}}
	for at, want := range map[string]bool{"/copy/x": false, "/copy/real/x": true, "/home/x": false, "/real/x": true, "/usr/x": false, "/x": false} {
		testkit.Equal(t, at, k.Keeps(at), want)
	}
}
