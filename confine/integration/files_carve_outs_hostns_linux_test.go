package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// hostNSTree is the tree of the tests of carve-outs.
var hostNSTree = []string{
	"work/file", "work/.env", "work/.git/hooks/pre-commit", "work/.git/config", "work/private/deep/file", "work/private/out", "work/sub/file", "outside",
	"work/link -> .env", "work/out -> ../outside",
}

func hostNSProfile(t *testing.T, dir string) *policy.Profile {
	return jailtest.Profile(t, jailtest.Grant{Path: dir + "/work", Rights: rw}, jailtest.Grant{Path: dir + "/work/.env", Rights: 0}, jailtest.Grant{Path: dir + "/work/private", Rights: 0},
		jailtest.Grant{Path: dir + "/work/.git/hooks", Rights: r}, jailtest.Grant{Path: dir + "/work/.git/config", Rights: r})
}

// TestHostNSCarveOuts: the supervisor refuses what a narrower entry takes away. Outside of a
// jail each attempt succeeds.
func TestHostNSCarveOuts(t *testing.T) {
	jailtest.NeedsHostNS(t)
	(fileTable{hostNSTree, func(dir string) *policy.Profile { return hostNSProfile(t, dir) }, jailtest.AttemptsHostNS}).check(t, "hostns-carve-outs.txt")
}

// TestHostNSDenials: a refusal of the supervisor is recorded with its path.
func TestHostNSDenials(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir := testkit.Plant(t, hostNSTree...)
	s := jailtest.BeginBy(t, jailtest.WaivesGaps, hostNSProfile(t, dir), attacker.Try("read", dir+"/work/.env"), attacker.Try("chmod", dir+"/work/.git/config"))
	s.Finish()
	for _, target := range []string{"/work/.env", "/work/.git/config"} {
		if !slices.ContainsFunc(s.Denials(), func(d policy.Denial) bool { return d.Axis == policy.AxisFs && d.Target == dir+target }) {
			t.Errorf("nothing of %s: %+v", target, s.Denials())
		}
	}
}

// TestHostNSExtendedAttributes: Landlock lets every program read the values of extended
// attributes, also of hidden files. The filter refuses the calls.
func TestHostNSExtendedAttributes(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir := testkit.Plant(t, hostNSTree...)
	for _, name := range []string{"outside", "work/.env", "work/file"} {
		testkit.Must(t, unix.Setxattr(dir+"/"+name, "user.secret", []byte("told"), 0))
		file := dir + "/" + name
		for _, c := range []struct{ attempt, control, want attacker.Outcome }{
			{"xattr-value " + file + " user.secret", "ok told", "ENOTSUP"},
			{"xattr-of-link " + file + " user.secret", "ok told", "ENOTSUP"},
			{"xattr-names " + file, `ok "user.secret\x00"`, "ENOTSUP"},
			{"xattr-at " + file + " user.secret", "ok told", "ENOSYS"},
		} {
			a := attacker.Attempt(strings.Fields(c.attempt))
			control := jailtest.Unconfined(t, dir, a)[0]
			if a[0] == "xattr-at" && control == "ENOSYS" {
				t.Logf("this kernel has no getxattrat")
				continue
			}
			jailtest.Expect(t, "unconfined: "+c.attempt, control, c.control)
			jailtest.Expect(t, c.attempt, jailtest.AttemptsHostNS(t, hostNSProfile(t, dir), a)[0], c.want)
		}
	}
}
