package integration

import (
	"bytes"
	"path/filepath"
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
	for _, c := range []struct {
		attempt string
		want    attacker.Outcome
	}{
		// Reading, by every way to it.
		{"read work/.env", eacces},
		{"read work/link", eacces},
		{"read work/private/deep/file", eacces},
		{"list work/private", eacces},
		{"chdir-list work/private", eacces},
		{"chdir-read work/private/deep", eacces},
		{"read work/out", eacces},
		{"path-read work/.env", eacces},
		{"path-reopen work/.env", eacces},
		{"link work/.env work/x", exdev},
		{"link work/link work/x", "ok"}, // a second name of the link itself
		{"rename work/.env work/x", ebusy},
		{"rename work/private work/x", ebusy},
		{"rename work/private/out work/x", eacces},
		{"exchange work/.env work/file", ebusy},
		{"unlink work/.env", ebusy},
		{"write work/.env", eacces},
		// Writing.
		{"write work/.git/hooks/pre-commit", eacces},
		{"rewrite work/.git/hooks/pre-commit", eacces},
		{"truncate work/.git/hooks/pre-commit", eacces},
		{"trunc work/.git/hooks/pre-commit", eacces}, // O_RDONLY|O_TRUNC
		{"create work/.git/hooks/new", eacces},
		{"unlink work/.git/hooks/pre-commit", eacces},
		{"rename work/file work/.git/hooks/new", eacces},
		{"link work/.git/hooks/pre-commit work/x", exdev},
		{"rename work/.git work/x", ebusy},
		{"rename work/file work/.git/config", ebusy},
		{"create work/.envrc", eacces},
		{"create work/sub/.mcp.json", eacces},
		// Modes, owners, times.
		{"chmod outside", eacces},
		{"chmod-fd work/.git/hooks/pre-commit", eacces},
		{"chmod work/.git/hooks/pre-commit", eacces},
		{"chmod work/.git/hooks", eacces},
		{"chmod work/.env", eacces},
		{"utimes outside", eacces},
		{"utimes work/out", eacces},
		{"utimes-fd work/.git/config", eacces},
		{"chown outside", eacces},
		{"lchown work/.env", eacces},
		{"xattr work/file", "ENOTSUP"},
		{"xattr outside", "ENOTSUP"},
		{"set-flags work/.git/config", "EPERM"},
		// And what is granted.
		{"read work/file", "ok"},
		{"read work/.git/hooks/pre-commit", "ok"},
		{"list work", "ok"},
		{"list work/.git/hooks", "ok"},
		{"chdir-list work/sub", "ok"},
		{"path-reopen work/file", "ok"},
		{"write work/file", "ok"},
		{"trunc work/file", "ok"},
		{"rename work/file work/sub/new", "ok"},
		{"link work/file work/sub/new", "ok"},
		{"chmod work/file", "ok"},
		{"chmod work", "ok"},
		{"chmod work/.git", "ok"},
		{"chmod-fd work/file", "ok"},
		{"utimes work/file", "ok"},
		{"utimes-fd work/file", "ok"},
		{"utime work/file", "ok"},
		{"lutimes work/link", "ok"},
		{"chown work/file", "ok"},
		{"lchown work/link", "ok"},
	} {
		t.Run(c.attempt, func(t *testing.T) {
			t.Parallel()
			for _, jail := range []bool{false, true} {
				dir := testkit.Plant(t, hostNSTree...)
				a := attacker.Attempt(strings.Fields(c.attempt))
				for i := range a[1:] {
					a[i+1] = filepath.Join(dir, a[i+1])
				}
				if !jail {
					got, _, _ := strings.Cut(jailtest.Unconfined(t, dir, a)[0], " ")
					if want := "ok"; got != want && !strings.HasPrefix(c.attempt, "rename work/file work/.git/config") {
						t.Errorf("unconfined: %s", got)
					}
					continue
				}
				before := jailtest.HostTree(t, dir)
				got, _, _ := strings.Cut(jailtest.AttemptsHostNS(t, hostNSProfile(t, dir), a)[0], " ")
				jailtest.Expect(t, "in the jail", got, c.want)
				if after := jailtest.HostTree(t, dir); c.want != "ok" && after != before {
					t.Errorf("it was refused, and changed\n%s\nto\n%s", before, after)
				}
			}
		})
	}
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
	// ls and cp ask for attributes, and do without.
	for _, argv := range [][]string{{"ls", "-l", dir + "/work"}, {"cp", "-a", dir + "/work/file", dir + "/work/copy"}} {
		p := hostNSProfile(t, dir)
		p.Program, p.Argv = "/usr/bin/"+argv[0], argv
		var out, errs bytes.Buffer
		proc, wait, err := jailtest.Start(t, jailtest.WaivesGaps, p, &out, &errs)
		testkit.Must(t, err)
		exit, _ := proc.Wait()
		wait()
		if exit.Code != 0 || errs.Len() > 0 {
			t.Errorf("%q: %+v, %s", argv, exit, errs.String())
		}
	}
}
