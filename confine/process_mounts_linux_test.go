package confine_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestProcessMounts: what is mounted in a jail is told in the same words while it stays, also once the supervisor
// runs, and in others when a mask is gone or elsewhere. Then it is not whole, also at the first look.
func TestProcessMounts(t *testing.T) {
	jailtest.Needs(t)
	for _, c := range maskChanges {
		for _, late := range []bool{false, true} {
			dir := testkit.Plant(t, "ws/hidden")
			hidden := filepath.Join(dir, "ws/hidden")
			p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: policy.AllRights}, jailtest.Grant{Path: hidden})
			started := jailtest.Begin(t, p, attacker.Try("wait"))
			var before []byte
			if late {
				var whole bool
				if before, whole = started.Mounts(); !whole || !bytes.Contains(before, []byte(" "+hidden+" ")) {
					t.Errorf("%s: at first, whole %t, without the mask: %s", c.what, whole, before)
				}
				testkit.Eventually(t, "the supervisor runs", started.IsSupervised)
			}
			if c.again != nil {
				testkit.Must(t, c.again(hidden, hidden+"2"))
			}
			after, whole := started.Mounts()
			if whole != (c.again == nil) || late && bytes.Equal(before, after) != whole {
				t.Errorf("%s: whole %t:\n%s\n%s", c.what, whole, before, after)
			}
			started.Kill()
			started.Finish()
			if _, whole := started.Mounts(); whole {
				t.Errorf("%s: the mounts of a jail that has ended are whole", c.what)
			}
		}
	}
}

// TestMountsOfEachKind: the mounts of a jail are whole with each kind of mount, and with names that the kernel
// escapes.
func TestMountsOfEachKind(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "ws/file", "ws/dir/x", "ws/open/in/x", "ws/read/x", "ws/a b/file", "ws/a\\b", "ws/a\u00a0b", "ws/read file")
	ws := dir + "/ws"
	testkit.Must(t, os.Symlink("file", ws+"/link"))
	grants := []jailtest.Grant{{Path: ws, Rights: policy.AllRights}, {Path: ws + "/open"}, {Path: ws + "/open/in", Rights: policy.AllRights}}
	for _, name := range []string{"file", "dir", "a b/file", "a\\b", "a\u00a0b", "link"} {
		grants = append(grants, jailtest.Grant{Path: ws + "/" + name})
	}
	for _, name := range []string{"read", "read file"} {
		grants = append(grants, jailtest.Grant{Path: ws + "/" + name, Rights: policy.Read})
	}
	started := jailtest.Begin(t, jailtest.Profile(t, grants...), attacker.Try("wait"))
	defer started.Finish()
	defer started.Kill()
	if list, whole := started.Mounts(); !whole {
		t.Errorf("something is missing in %s", list)
	}
}
