//go:build !seatbelt

package confine_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestProcessMounts: what is mounted in a jail is told in the same words while it stays, also once the supervisor
// runs, and in others when a mask is gone or elsewhere.
func TestProcessMounts(t *testing.T) {
	jailtest.Needs(t)
	for _, c := range maskChanges {
		dir := testkit.Plant(t, "ws/hidden")
		hidden := filepath.Join(dir, "ws/hidden")
		p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: policy.AllRights}, jailtest.Grant{Path: hidden})
		started := jailtest.Begin(t, p, attacker.Try("wait"))
		before, known := started.Mounts()
		if !known || !bytes.Contains(before, []byte(" "+hidden+" ")) {
			t.Errorf("%s: at first, known %t, without the mask: %s", c.what, known, before)
		}
		testkit.Eventually(t, "the supervisor runs", started.IsSupervised)
		if c.again != nil {
			if err := c.again(hidden, hidden+"2"); err != nil {
				t.Fatal(err)
			}
		}
		after, known := started.Mounts()
		if same := bytes.Equal(before, after); !known || same != (c.again == nil) {
			t.Errorf("%s: known %t, the same %t:\n%s\n%s", c.what, known, same, before, after)
		}
		started.Kill()
		started.Finish()
		if _, known := started.Mounts(); known {
			t.Errorf("%s: the mounts of a jail that has ended are known", c.what)
		}
	}
}
