package report

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestOperation tests that each operation on a file that a supervisor reports has a phrase that a
// target can follow.
func TestOperation(t *testing.T) {
	for _, op := range []policy.Op{policy.OpRead, policy.OpWrite, policy.OpTruncate, policy.OpCreate, policy.OpMkdir, policy.OpRemove} {
		if got := Operation(policy.Denial{Operation: op.String()}); !strings.HasPrefix(got, "to ") {
			t.Errorf("%s: %q", op, got)
		}
	}
	if got := Operation(policy.Denial{Operation: "anything"}); got != "anything of" {
		t.Errorf("control: %q", got)
	}
}
