package install

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
)

// withScriptsOf returns the installer for a line that was pinned before: if scripts ran then, the user has allowed
// them, and they run again.
func (i *Installer) withScriptsOf(before *lockfile.Entry) *Installer {
	if before == nil || !before.ScriptsRan {
		return i
	}
	with := *i
	with.Scripts = true
	return &with
}

// addsScripts reports whether an installation is to run the scripts that were skipped when an
// entry was pinned. The packages stay the same; their files do not.
func (i *Installer) addsScripts(e *lockfile.Entry) bool {
	return i.Scripts && !e.ScriptsRan && e.HasScripts()
}

func (i *Installer) samePin(pinned, e *lockfile.Entry) error {
	if pinned.Tree == e.Tree && (pinned.Files == e.Files || i.addsScripts(pinned)) {
		return nil
	}
	return &MovedError{Pinned: pinned, Found: e, LockFile: i.LockFile, Asked: i.asked(pinned)}
}

// MovedError reports that the tree that was fetched is not the one that the lock file pins, or that the registry
// does not give that one any more.
type MovedError struct {
	Pinned   *lockfile.Entry
	Found    *lockfile.Entry // nil if Err says why nothing was found
	Err      error
	LockFile string
	Asked    string // see Installer
}

// maxChanges bounds the changes that an error names.
const maxChanges = 10

func (e *MovedError) Error() string {
	text := fmt.Sprintf("%s is pinned by %s, and the registry gives something else now:", e.Pinned.Key, e.LockFile)
	switch {
	case e.Found == nil:
		text += " " + e.Err.Error()
	case e.Pinned.Tree == e.Found.Tree:
		text = fmt.Sprintf("%s is pinned by %s. Its packages are the same, and their files are not: %s", e.Pinned.Key, e.LockFile, e.why())
	default:
		for n, c := range lockfile.Diff(e.Pinned, e.Found) {
			if n == maxChanges {
				text += "\n  …"
				break
			}
			text += "\n  " + c.Text
		}
	}
	return text + "\nNothing was changed. To see and accept it: mcp-jail install --update " + e.Asked
}

func (e *MovedError) Unwrap() error { return e.Err }

func (e *MovedError) why() string {
	if e.Pinned.ScriptsRan {
		return "install scripts ran, and what they make may differ from run to run."
	}
	return "the same archives were unpacked differently, for example by another version of npm."
}

// ChangedError reports that the installed files of a package are not those that are pinned.
type ChangedError struct {
	Entry *lockfile.Entry
	Asked string // see Installer
	Err   error  // usually a *store.ChangedError
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s. To install the pinned ones again: mcp-jail install %s. To accept what the registry has now: mcp-jail install --update %s", e.Err, e.Asked, e.Asked)
}

func (e *ChangedError) Unwrap() error { return e.Err }

func (i *Installer) asked(e *lockfile.Entry) string {
	spec, _, _ := strings.Cut(e.Spec, " --") // after it, the key says where the package comes from
	switch {
	case i.Asked != "":
		return i.Asked
	case e.Ecosystem == lockfile.PyPI:
		return "-- uvx " + show.Spelled([]string{spec})
	}
	return "-- npx -y " + show.Spelled([]string{spec})
}
