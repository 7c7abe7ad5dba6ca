package said

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// git's messages name places in their own phrases. The named path is seldom the
// right one for a rule, because git reads and writes in its whole directory.
var (
	// fatal: not a git repository: /x/.git/worktrees/y   (the target of a worktree's pointer)
	gitPointer = lazy.Regexp(`not a git repository: (\S.*)$`)
	// error: insufficient permission for adding an object to repository database .git/objects
	// error: could not lock config file .git/config: Read-only file system
	gitLock    = lazy.Regexp(`could not lock config file (\S.*): [A-Z]`)
	gitAround  = lazy.Regexp(`not a git repository \(or any (?:of the parent directories|parent up to mount point (/.*))\)`)
	gitObjects = lazy.Regexp(`insufficient permission for adding an object to repository database (\S.*)$`)
)

func gitReferences(line string, f Fault) []Reference {
	if m := gitPointer().FindStringSubmatch(line); m != nil {
		return []Reference{pathReference(Absent, "read", m[1])}
	}
	if m := gitObjects().FindStringSubmatch(line); m != nil {
		return []Reference{pathReference(Refused, "write", m[1])}
	}
	if m := gitLock().FindStringSubmatch(line); m != nil {
		return []Reference{pathReference(f, "create", m[1]+".lock")}
	}
	if m := gitAround().FindStringSubmatch(line); m != nil {
		return []Reference{{Kind: Repository, Name: m[1], Fault: Absent}}
	}
	if strings.Contains(line, "fatal: not in a git directory") {
		return []Reference{{Kind: Repository, Fault: Absent}}
	}
	return nil
}
