package plan

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUndoMediatesAttributes: where something is kept for undo, changes of attributes pass the supervisor, too.
func TestUndoMediatesAttributes(t *testing.T) {
	p := plantest.Profile()
	off := Compile(p, plantest.Kernel(), Watching{}).Spec
	p.Undo.Mode = policy.UndoCall
	if on := Compile(p, plantest.Kernel(), Watching{}).Spec; len(on.ListenerFilter) <= len(off.ListenerFilter) {
		t.Error("changes of attributes are not mediated")
	}
}
