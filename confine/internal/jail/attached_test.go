package jail

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAreAttached: a list has all mounts only if each is where the plan mounts it, and is of its kind.
func TestAreAttached(t *testing.T) {
	mounts := []spec.Mount{
		{Kind: spec.MountBind, Path: "/ws", IsDir: true}, // on a name of the jail's own
		{Kind: spec.MountMask, Path: "/ws/.env", OnExisting: true},
		{Kind: spec.MountMask, Path: "/ws/a b", IsDir: true, OnExisting: true},
		{Kind: spec.MountMask, Path: "/ws/open", IsDir: true, OnExisting: true, Traversable: true},
		{Kind: spec.MountBind, Path: "/ws/.git", IsDir: true, OnExisting: true, ReadOnly: true, NoExec: true},
		{Kind: spec.MountPin, Path: "/ws/.git", IsDir: true, OnExisting: true},
	}
	const whole = `68 42 0:44 / / ro,nosuid,nodev - tmpfs none rw
77 68 254:0 /home/u/ws /ws rw,nosuid - ext4 /dev/vda rw
95 77 0:43 /.masked-file//deleted /ws/.env ro,nosuid,nodev,noexec - tmpfs none rw
96 77 0:43 /.masked-directory//deleted /ws/a\040b ro,nosuid,nodev,noexec - tmpfs none rw
97 77 0:48 / /ws/open ro,nosuid,nodev - tmpfs none rw,mode=111
98 77 254:0 /home/u/ws/.git /ws/.git ro,nosuid,noexec - ext4 /dev/vda rw
`
	if !AreAttached(mounts, []byte(whole)) {
		t.Error("the whole list is not whole")
	}
	for what, c := range map[string][2]string{
		"no list":                        {whole, ""},
		"the mask is gone":               {"95 77 0:43 /.masked-file//deleted /ws/.env ", "95 77 0:43 /.masked-file//deleted /ws/x "},
		"the mask was renamed":           {"/ws/.env ", "/ws/.env2 "},
		"a mount of the host":            {"/.masked-file//deleted", "/home/u/ws/.env"},
		"the mask of a file for another": {"/.masked-directory//deleted", "/.masked-file//deleted"},
		"a writable mask":                {"/ws/open ro", "/ws/open rw"},
		"another filesystem":             {"ro,nosuid,nodev - tmpfs none rw,mode=111", "ro,nosuid,nodev - ext4 /dev/vda rw"},
		"writable":                       {"/ws/.git ro", "/ws/.git rw"},
		"executable":                     {"nosuid,noexec - ext4", "nosuid - ext4"},
	} {
		testkit.Contains(t, fmt.Sprintf("%s: nothing to change", what), whole, c[0])
		if AreAttached(mounts, []byte(strings.Replace(whole, c[0], c[1], 1))) {
			t.Errorf("%s: the list is whole", what)
		}
	}
}
