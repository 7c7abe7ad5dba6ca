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
	(fileTable{carveTree, func(dir string) *policy.Profile { return jailtest.Profile(t, grants(dir)...) }, jailtest.Attempts}).check(t, "carve-outs.txt")
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
	(fileTable{[]string{"pkg/.env", "pkg/keys/code"}, profile, jailtest.Attempts}).check(t, "masks-of-missing-names.txt")
}

// TestJailMasksOnLinks: a symlink itself is hidden. It can be neither followed nor removed nor
// replaced.
func TestJailMasksOnLinks(t *testing.T) {
	jailtest.Needs(t)
	tree := []string{"conf", "other", "away/", ".env -> conf", ".dir -> away"}
	profile := func(dir string) *policy.Profile {
		return jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}, jailtest.Grant{Path: dir + "/.env", Rights: 0}, jailtest.Grant{Path: dir + "/.dir", Rights: 0})
	}
	(fileTable{tree, profile, jailtest.Attempts}).check(t, "masks-on-links.txt")
}
