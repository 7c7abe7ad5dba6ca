package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// carveTree is the tree of the tests of carve-outs.
var carveTree = []string{
	"a", ".env", "out -> a", "secret/key", "secret/deep/key",
	"src/code", "src/generated/code", "src/generated/gone", "src/generated/x/code", "src/generated/xy",
	"sub/dir/.git/config", "sub/dir/.git/config.lock", "sub/dir/.git/hooks/pre", "sub/dir/.git/index",
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
	(fileTable{carveTree, func(dir string) *policy.Profile { return jailtest.Profile(t, grants(dir)...) }, jailtest.Attempts}).check(t, []fileRow{
		// A mask cannot be read, listed, filled, moved, replaced, linked, or opened up.
		{"read DIR/.env", "EACCES", false},
		{"write DIR/.env", "EACCES", false},
		{"unlink DIR/.env", "EBUSY", false},
		{"rename DIR/.env DIR/env", "EBUSY", false},
		{"rename DIR/a DIR/.env", "EBUSY", false},
		{"exchange DIR/a DIR/.env", "EBUSY", false},
		{"link DIR/.env DIR/env", "EXDEV", false},
		{"chmod DIR/.env", "EROFS", false},
		{"truncate DIR/.env", truncated, false},
		{"list DIR/secret", "EACCES", false},
		{"read DIR/secret/key", "EACCES", false},
		{"stat DIR/secret/key", "EACCES", false},
		{"create DIR/secret/new", "EACCES", false},
		{"mkdir DIR/secret/new", "EACCES", false},
		{"rmdir DIR/secret", "EBUSY", true},
		{"rename DIR/secret DIR/open", "EBUSY", false},
		{"exchange DIR/secret DIR/bin", "EBUSY", false},
		{"chmod DIR/secret", "EROFS", false},
		{"handle DIR/secret", "EPERM", true},
		{"umount DIR/secret", "EPERM", true},
		{"read DIR/hard", "ok key", false}, // by another name it is not masked: docs/policy.md "How a path is found"
		// {., rw} ⊃ {src, r} ⊃ {src/generated, rw} ⊃ {src/generated/x, nothing}
		{"read DIR/src/code", "ok code", false},
		{"write DIR/src/code", "EROFS", false},
		{"create DIR/src/new", "EROFS", false},
		{"unlink DIR/src/code", "EROFS", false},
		{"chmod DIR/src/code", "EROFS", false},
		{"utimes DIR/src/code", "EROFS", false},
		{"chmod DIR/src", "EROFS", false},
		{"rename DIR/src DIR/old", "EBUSY", false},
		{"rename DIR/src/code DIR/code", "EXDEV", false},
		{"link DIR/src/code DIR/code", "EXDEV", false},
		{"execs DIR/src/code", "EACCES", false},
		{"mapexec DIR/src/code", "EPERM", false},
		{"write DIR/src/generated/code", "ok", false},
		{"create DIR/src/generated/new", "ok", false},
		{"unlink DIR/src/generated/gone", "ok", false},
		{"execs DIR/src/generated/code", "EACCES", false},
		{"mapexec DIR/src/generated/code", "EPERM", false},
		{"rename DIR/src/generated DIR/src/g", "EROFS", false},
		{"list DIR/src/generated/x", "EACCES", false},
		{"read DIR/src/generated/x/code", "EACCES", false},
		{"rename DIR/src/generated/x DIR/src/generated/z", "EBUSY", false},
		{"read DIR/src/generated/xy", "ok xy", false},
		// Protected names: readable, and neither they nor their parents move.
		{"read DIR/sub/dir/.git/hooks/pre", "ok pre", false},
		{"write DIR/sub/dir/.git/hooks/pre", "EROFS", false},
		{"create DIR/sub/dir/.git/hooks/new", "EROFS", false},
		{"write DIR/sub/dir/.git/config", "EROFS", false},
		{"create DIR/sub/dir/.git/index.lock", "ok", false},
		{"rename DIR/sub/dir/.git/config.lock DIR/sub/dir/.git/config", "EBUSY", false},
		{"unlink DIR/sub/dir/.git/config.lock", "ok", false},
		{"unlink DIR/sub/dir/.git/config", "EBUSY", false},
		{"write DIR/sub/dir/.git/index", "ok", false},
		{"rename DIR/sub/dir/.git/hooks DIR/sub/dir/.git/h", "EBUSY", false},
		{"rename DIR/sub/dir/.git DIR/sub/dir/moved", "EBUSY", false},
		{"rename DIR/sub/dir DIR/sub/moved", "EBUSY", false},
		{"rename DIR/sub DIR/moved", "EBUSY", false},
		{"exchange DIR/sub DIR/bin", "EBUSY", false},
		// A mask with holes: only what is granted again can be reached.
		{"read DIR/home/note", "ok note", false},
		{"read DIR/home/.sshfoo", "ok .sshfoo", false},
		{"read DIR/home/.ssh/known_hosts", "ok known_hosts", false},
		{"write DIR/home/.ssh/known_hosts", "EROFS", false},
		{"read DIR/home/.ssh/keys/public/b", "ok b", false},
		{"list DIR/home/.ssh/keys/public", "ok b", false},
		{"read DIR/home/.ssh/id", "ENOENT", false},
		{"read DIR/home/.ssh/keys/a", "ENOENT", false},
		{"list DIR/home/.ssh", "EACCES", false},
		{"list DIR/home/.ssh/keys", "EACCES", false},
		{"create DIR/home/.ssh/new", "EROFS", false},
		{"create DIR/home/.ssh/keys/new", "EROFS", false},
		{"chmod DIR/home/.ssh", "EROFS", false},
		{"rename DIR/home/.ssh DIR/home/ssh", "EROFS", false},
		// Execution that is taken away.
		{"execs DIR/a", "ok", false},
		{"execs DIR/bin/tool", "EACCES", false},
		{"mapexec DIR/bin/tool", "EPERM", false},
		{"mapexec DIR/a", "ok", false},
		{"read DIR/out", "ok a", false},
	})
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
	profile := func(dir string) *policy.Profile {
		return jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}, jailtest.Grant{Path: dir + "/pkg/.env", Rights: 0}, jailtest.Grant{Path: dir + "/pkg/keys/code", Rights: r})
	}
	(fileTable{[]string{"pkg/.env", "pkg/keys/code"}, profile, jailtest.Attempts}).check(t, []fileRow{
		{"read DIR/pkg/.env", "EACCES", false},
		{"rename DIR/pkg DIR/moved", "EBUSY", false},
		{"rename DIR/pkg/.env DIR/pkg/env", "EBUSY", false},
		{"unlink DIR/pkg/.env", "EBUSY", false},
	})
}

// TestJailMasksOnLinks: a symlink itself is hidden. It can be neither followed nor removed nor
// replaced.
func TestJailMasksOnLinks(t *testing.T) {
	jailtest.Needs(t)
	tree := []string{"conf", "other", "away/", ".env -> conf", ".dir -> away"}
	profile := func(dir string) *policy.Profile {
		return jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}, jailtest.Grant{Path: dir + "/.env", Rights: 0}, jailtest.Grant{Path: dir + "/.dir", Rights: 0})
	}
	(fileTable{tree, profile, jailtest.Attempts}).check(t, []fileRow{
		{"read DIR/.env", "EACCES", false},
		{"unlink DIR/.env", "EBUSY", false},
		{"rename DIR/.env DIR/env", "EBUSY", false},
		{"rename DIR/other DIR/.env", "EBUSY", false},
		{"exchange DIR/other DIR/.env", "EBUSY", false},
		{"list DIR/.dir", "EACCES", false},
		{"unlink DIR/.dir", "EBUSY", false},
		{"read DIR/conf", "ok conf", false},
	})
}
