// Package seatbelt compiles a profile to the language of macOS's sandbox. It is pure.
//
// A text denies everything, then allows the tree of each entry for each operation, and denies what is not granted
// in it: of the rules about an operation, the last that matches decides. Operations are named one by one, because
// a rule about a group of them and a rule about one of it do not override each other as one expects. An allow has
// a path and no condition, because one with a condition may be taken for more precise than a later deny.
//
// Probe F1 of the self-test tells whether a system removes and renames directories under such texts. It did
// not where codex wrote patterns (openai/codex#40565): a deny of each directory that might hold a match,
// and "**" matches all of them. No text here has that.
//
// The text is as strict as [policy.Profile.Allows], and stricter in these places:
//   - The directories on the way to a name that must not come into being cannot be made.
//   - A directory with the name .github or .hg cannot be made, because one with contents could be
//     moved there.
//   - Names are judged in every spelling that some disk might take for them, also where the disk
//     does not.
//   - Packages in node_modules are exempt from the rules about names, but not where the node_modules
//     is below a protected name, or in what a rule grants below one.
//   - In the git directories of submodules and worktrees, a name inside the name of a branch counts
//     if a protected name is before it, or .git behind it.
//   - In the git directories of submodules and worktrees, no directory can be made but for objects,
//     references and their logs: Seatbelt cannot tell it from one that is moved there with contents.
//   - A file in the git directory of a submodule that a rule names is written, but not replaced: a link
//     could take its place.
//   - A rule for /tmp, or for what is around it, does not reach the TMPDIR of another server.
package seatbelt

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Version changes with each change of the text that Compile writes for the same Input. The
// self-test of a Mac counts for one version only.
const Version = 6

// Input is all that a text depends on.
type Input struct {
	Profile *policy.Profile
	Self    string // the running program, which executes the server from inside
	TempDir string // the server's own TMPDIR, with all rights; "" for none
	// ProxyPort is the port of the session's own proxy on 127.0.0.1 and ::1. 0: no hosts are granted.
	ProxyPort int
	Inbound   bool     // the server may listen on ports
	NoFork    bool     // it may start no process
	Without   []string // optional operations that this system does not know
}

// Text is a profile for sandbox-exec: the text for -f, and NAME=value for each -D.
type Text struct {
	Profile string
	Params  []string
}

// PathError reports a path that no text can name.
type PathError struct{ Path, Why string }

func (e *PathError) Error() string {
	return fmt.Sprintf("the path %q cannot be written in a profile for macOS's sandbox: %s", e.Path, e.Why)
}

// unfit returns why a path cannot be written, or "".
func unfit(p string) string {
	switch {
	case !strings.HasPrefix(p, "/"):
		return "it is not absolute"
	case !utf8.ValidString(p):
		return "it is not UTF-8"
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "it has a control character"
	}
	return ""
}
