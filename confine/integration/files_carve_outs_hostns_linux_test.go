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
	const eacces, ebusy, exdev = "EACCES", "EBUSY", "EXDEV"
	(fileTable{hostNSTree, func(dir string) *policy.Profile { return hostNSProfile(t, dir) }, jailtest.AttemptsHostNS}).check(t, []fileRow{
		// Reading, by every way to it.
		{"read DIR/work/.env", eacces, false},
		{"read DIR/work/link", eacces, false},
		{"read DIR/work/private/deep/file", eacces, false},
		{"list DIR/work/private", eacces, false},
		{"chdir-list DIR/work/private", eacces, false},
		{"chdir-read DIR/work/private/deep", eacces, false},
		{"read DIR/work/out", eacces, false},
		{"path-read DIR/work/.env", eacces, false},
		{"path-reopen DIR/work/.env", eacces, false},
		{"link DIR/work/.env DIR/work/x", exdev, false},
		{"link DIR/work/link DIR/work/x", "ok", false}, // a second name of the link itself
		{"rename DIR/work/.env DIR/work/x", ebusy, false},
		{"rename DIR/work/private DIR/work/x", ebusy, false},
		{"rename DIR/work/private/out DIR/work/x", eacces, false},
		{"exchange DIR/work/.env DIR/work/file", ebusy, false},
		{"unlink DIR/work/.env", ebusy, false},
		{"write DIR/work/.env", eacces, false},
		// Writing.
		{"write DIR/work/.git/hooks/pre-commit", eacces, false},
		{"rewrite DIR/work/.git/hooks/pre-commit", eacces, false},
		{"truncate DIR/work/.git/hooks/pre-commit", eacces, false},
		{"trunc DIR/work/.git/hooks/pre-commit", eacces, false}, // O_RDONLY|O_TRUNC
		{"create DIR/work/.git/hooks/new", eacces, false},
		{"unlink DIR/work/.git/hooks/pre-commit", eacces, false},
		{"rename DIR/work/file DIR/work/.git/hooks/new", eacces, false},
		{"link DIR/work/.git/hooks/pre-commit DIR/work/x", exdev, false},
		{"rename DIR/work/.git DIR/work/x", ebusy, false},
		{"rename DIR/work/file DIR/work/.git/config", ebusy, true},
		{"create DIR/work/.envrc", eacces, false},
		{"create DIR/work/sub/.mcp.json", eacces, false},
		// Modes, owners, times.
		{"chmod DIR/outside", eacces, false},
		{"chmod-fd DIR/work/.git/hooks/pre-commit", eacces, false},
		{"chmod DIR/work/.git/hooks/pre-commit", eacces, false},
		{"chmod DIR/work/.git/hooks", eacces, false},
		{"chmod DIR/work/.env", eacces, false},
		{"utimes DIR/outside", eacces, false},
		{"utimes DIR/work/out", eacces, false},
		{"utimes-fd DIR/work/.git/config", eacces, false},
		{"chown DIR/outside", eacces, false},
		{"lchown DIR/work/.env", eacces, false},
		{"xattr DIR/work/file", "ENOTSUP", false},
		{"xattr DIR/outside", "ENOTSUP", false},
		{"set-flags DIR/work/.git/config", "EPERM", false},
		// And what is granted.
		{"read DIR/work/file", "ok", false},
		{"read DIR/work/.git/hooks/pre-commit", "ok", false},
		{"list DIR/work", "ok", false},
		{"list DIR/work/.git/hooks", "ok", false},
		{"chdir-list DIR/work/sub", "ok", false},
		{"path-reopen DIR/work/file", "ok", false},
		{"write DIR/work/file", "ok", false},
		{"trunc DIR/work/file", "ok", false},
		{"rename DIR/work/file DIR/work/sub/new", "ok", false},
		{"link DIR/work/file DIR/work/sub/new", "ok", false},
		{"chmod DIR/work/file", "ok", false},
		{"chmod DIR/work", "ok", false},
		{"chmod DIR/work/.git", "ok", false},
		{"chmod-fd DIR/work/file", "ok", false},
		{"utimes DIR/work/file", "ok", false},
		{"utimes-fd DIR/work/file", "ok", false},
		{"utime DIR/work/file", "ok", false},
		{"lutimes DIR/work/link", "ok", false},
		{"chown DIR/work/file", "ok", false},
		{"lchown DIR/work/link", "ok", false},
	})
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
