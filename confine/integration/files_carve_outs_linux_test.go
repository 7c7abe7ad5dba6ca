package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// carveTree is the tree of the tests of carve-outs.
var carveTree = []string{
	"a", ".env", "out -> a", "secret/key", "secret/deep/key",
	"src/code", "src/generated/code", "src/generated/x/code", "src/generated/xy",
	"sub/dir/.git/config", "sub/dir/.git/hooks/pre", "sub/dir/.git/index",
	"home/.ssh/id", "home/.ssh/known_hosts", "home/.ssh/keys/a", "home/.ssh/keys/public/b", "home/note", "home/.sshfoo",
	"bin/tool", "hard = secret/key",
}

// TestJailCarveOuts: grants are nested in both directions. A refused attempt leaves the host's
// tree as it was.
func TestJailCarveOuts(t *testing.T) {
	jailtest.Needs(t)
	truncated := "EACCES"
	if !refusesTruncating() {
		truncated = "EROFS" // the mask alone
	}
	grants := func(dir string) []jailtest.Grant {
		at := func(p string) string { return filepath.Join(dir, p) }
		return []jailtest.Grant{
			{Path: dir, Rights: rw | x},
			{Path: at(".env"), Rights: 0},
			{Path: at("secret"), Rights: 0},
			{Path: at("src"), Rights: r},
			{Path: at("src/generated"), Rights: rw},
			{Path: at("src/generated/x"), Rights: 0},
			{Path: at("sub/dir/.git/config"), Rights: r},
			{Path: at("sub/dir/.git/hooks"), Rights: r},
			{Path: at("home"), Rights: r},
			{Path: at("home/.ssh"), Rights: 0},
			{Path: at("home/.ssh/known_hosts"), Rights: r},
			{Path: at("home/.ssh/keys/public"), Rights: r},
			{Path: at("bin"), Rights: r},
		}
	}
	for _, c := range []struct{ attempt, want string }{
		// A mask cannot be read, listed, filled, moved, replaced, linked, or opened up.
		{"read DIR/.env", "EACCES"},
		{"write DIR/.env", "EACCES"},
		{"unlink DIR/.env", "EBUSY"},
		{"rename DIR/.env DIR/env", "EBUSY"},
		{"rename DIR/a DIR/.env", "EBUSY"},
		{"exchange DIR/a DIR/.env", "EBUSY"},
		{"link DIR/.env DIR/env", "EXDEV"},
		{"chmod DIR/.env", "EROFS"},
		{"truncate DIR/.env", truncated},
		{"list DIR/secret", "EACCES"},
		{"read DIR/secret/key", "EACCES"},
		{"stat DIR/secret/key", "EACCES"},
		{"create DIR/secret/new", "EACCES"},
		{"mkdir DIR/secret/new", "EACCES"},
		{"rmdir DIR/secret", "EBUSY"},
		{"rename DIR/secret DIR/open", "EBUSY"},
		{"exchange DIR/secret DIR/bin", "EBUSY"},
		{"chmod DIR/secret", "EROFS"},
		{"handle DIR/secret", "EPERM"},
		{"umount DIR/secret", "EPERM"},
		{"read DIR/hard", "ok key"}, // by another name it is not masked: docs/policy.md "Hard links"
		// {., rw} ⊃ {src, r} ⊃ {src/generated, rw} ⊃ {src/generated/x, nothing}
		{"read DIR/src/code", "ok code"},
		{"write DIR/src/code", "EROFS"},
		{"create DIR/src/new", "EROFS"},
		{"unlink DIR/src/code", "EROFS"},
		{"chmod DIR/src/code", "EROFS"},
		{"utimes DIR/src/code", "EROFS"},
		{"chmod DIR/src", "EROFS"},
		{"rename DIR/src DIR/old", "EBUSY"},
		{"rename DIR/src/code DIR/code", "EXDEV"},
		{"link DIR/src/code DIR/code", "EXDEV"},
		{"execs DIR/src/code", "EACCES"},
		{"mapexec DIR/src/code", "EPERM"},
		{"write DIR/src/generated/code", "ok"},
		{"create DIR/src/generated/new", "ok"},
		{"unlink DIR/src/generated/new", "ok"},
		{"execs DIR/src/generated/code", "EACCES"},
		{"mapexec DIR/src/generated/code", "EPERM"},
		{"rename DIR/src/generated DIR/src/g", "EROFS"},
		{"list DIR/src/generated/x", "EACCES"},
		{"read DIR/src/generated/x/code", "EACCES"},
		{"rename DIR/src/generated/x DIR/src/generated/z", "EBUSY"},
		{"read DIR/src/generated/xy", "ok xy"},
		// Protected names: readable, and neither they nor their parents move.
		{"read DIR/sub/dir/.git/hooks/pre", "ok pre"},
		{"write DIR/sub/dir/.git/hooks/pre", "EROFS"},
		{"create DIR/sub/dir/.git/hooks/new", "EROFS"},
		{"write DIR/sub/dir/.git/config", "EROFS"},
		{"create DIR/sub/dir/.git/config.lock", "ok"},
		{"rename DIR/sub/dir/.git/config.lock DIR/sub/dir/.git/config", "EBUSY"},
		{"unlink DIR/sub/dir/.git/config.lock", "ok"},
		{"unlink DIR/sub/dir/.git/config", "EBUSY"},
		{"write DIR/sub/dir/.git/index", "ok"},
		{"rename DIR/sub/dir/.git/hooks DIR/sub/dir/.git/h", "EBUSY"},
		{"rename DIR/sub/dir/.git DIR/sub/dir/moved", "EBUSY"},
		{"rename DIR/sub/dir DIR/sub/moved", "EBUSY"},
		{"rename DIR/sub DIR/moved", "EBUSY"},
		{"exchange DIR/sub DIR/bin", "EBUSY"},
		// A mask with holes: only what is granted again can be reached.
		{"read DIR/home/note", "ok note"},
		{"read DIR/home/.sshfoo", "ok .sshfoo"},
		{"read DIR/home/.ssh/known_hosts", "ok known_hosts"},
		{"write DIR/home/.ssh/known_hosts", "EROFS"},
		{"read DIR/home/.ssh/keys/public/b", "ok b"},
		{"list DIR/home/.ssh/keys/public", "ok b"},
		{"read DIR/home/.ssh/id", "ENOENT"},
		{"read DIR/home/.ssh/keys/a", "ENOENT"},
		{"list DIR/home/.ssh", "EACCES"},
		{"list DIR/home/.ssh/keys", "EACCES"},
		{"create DIR/home/.ssh/new", "EROFS"},
		{"create DIR/home/.ssh/keys/new", "EROFS"},
		{"chmod DIR/home/.ssh", "EROFS"},
		{"rename DIR/home/.ssh DIR/home/ssh", "EROFS"},
		// Execution that is taken away.
		{"execs DIR/a", "ok"},
		{"execs DIR/bin/tool", "EACCES"},
		{"mapexec DIR/bin/tool", "EPERM"},
		{"mapexec DIR/a", "ok"},
		{"read DIR/out", "ok a"},
	} {
		t.Run(c.attempt, func(t *testing.T) {
			t.Parallel()
			in := func(dir string) attacker.Attempt { return strings.Fields(strings.ReplaceAll(c.attempt, "DIR", dir)) }
			dir := testkit.Plant(t, carveTree...)
			if verb := in(dir)[0]; verb != "umount" && verb != "handle" && !strings.Contains(c.attempt, ".lock") &&
				!strings.Contains(c.attempt, "rmdir") && !strings.HasPrefix(c.attempt, "unlink DIR/src/generated/new") {
				got, _, _ := strings.Cut(jailtest.Unconfined(t, "/", in(testkit.Plant(t, carveTree...)))[0], " ")
				jailtest.Expect(t, "unconfined", got, attacker.Succeeded)
			}
			if verb := in(dir)[0]; (verb == "unlink" || verb == "rename") && strings.Contains(c.attempt, "new") || strings.Contains(c.attempt, ".lock") && verb != "create" {
				plantInto(t, in(dir)[1])
			}
			before := jailtest.HostTree(t, dir)
			got := jailtest.Attempts(t, jailtest.Profile(t, grants(dir)...), in(dir))[0]
			jailtest.Expect(t, "in the jail", got, c.want)
			if after := jailtest.HostTree(t, dir); got != attacker.Succeeded && !strings.HasPrefix(got, attacker.Succeeded+" ") && after != before {
				t.Errorf("the host's tree has changed:\n%s\nto\n%s", before, after)
			}
		})
	}
}

// plantInto makes the file that an attempt is to remove or to move.
func plantInto(t *testing.T, p string) {
	t.Helper()
	testkit.Must(t, os.WriteFile(p, nil, 0o644))
}

// TestJailMasksOfMissingNames: if the parent of a mask were moved, the mask would stay on the
// object, but the next start would look for it at the old path. The names sort so that the
// second carve-out needs a pin around the first.
func TestJailMasksOfMissingNames(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "pkg/.env", "pkg/keys/code")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}, jailtest.Grant{Path: dir + "/pkg/.env", Rights: 0}, jailtest.Grant{Path: dir + "/pkg/keys/code", Rights: r})
	for i := range p.Entries {
		if p.Entries[i].Rights == 0 {
			p.Entries[i].Named = "**/.env"
		}
	}
	got := jailtest.Attempts(t, p,
		attacker.Try("read", dir+"/pkg/.env"),
		attacker.Try("rename", dir+"/pkg", dir+"/moved"),
		attacker.Try("rename", dir+"/pkg/.env", dir+"/pkg/env"),
		attacker.Try("unlink", dir+"/pkg/.env"),
		attacker.Try("read", dir+"/pkg/.env"),
	)
	want := []attacker.Outcome{"EACCES", "EBUSY", "EBUSY", "EBUSY", "EACCES"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestJailMasksOnLinks: a symlink itself is hidden. It can be neither followed nor removed nor
// replaced.
func TestJailMasksOnLinks(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "conf", "other", "away/", ".env -> conf", ".dir -> away")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}, jailtest.Grant{Path: dir + "/.env", Rights: 0}, jailtest.Grant{Path: dir + "/.dir", Rights: 0})
	for _, c := range []struct{ attempt, want string }{
		{"read DIR/.env", "EACCES"},
		{"unlink DIR/.env", "EBUSY"},
		{"rename DIR/.env DIR/env", "EBUSY"},
		{"rename DIR/other DIR/.env", "EBUSY"},
		{"exchange DIR/other DIR/.env", "EBUSY"},
		{"list DIR/.dir", "EACCES"},
		{"unlink DIR/.dir", "EBUSY"},
		{"read DIR/conf", "ok conf"},
	} {
		before := jailtest.HostTree(t, dir)
		got := jailtest.Attempts(t, p, strings.Fields(strings.ReplaceAll(c.attempt, "DIR", dir)))[0]
		jailtest.Expect(t, c.attempt, got, c.want)
		if jailtest.HostTree(t, dir) != before {
			t.Errorf("%s: the host's tree has changed", c.attempt)
		}
	}
}
