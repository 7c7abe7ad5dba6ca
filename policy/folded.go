package policy

import (
	"strings"
)

// A FoldedName is a name that its filesystem also finds under other spellings: the name of
// an entry, a name that must not come into being, or a directory on the way to one.
// Filesystems that ignore case are vfat, ext4 with casefold, and the disks of Windows and
// macOS; most of them ignore more than case. Compare the object by its ID, and compare
// spellings only where no object exists.
type FoldedName struct {
	Path string
	ID   FileID // zero if the path does not exist
	// BypassesMount reports that another spelling is another name to the kernel: it does
	// not lead to the mount on Path.
	BypassesMount bool
	// OtherSpelling is one of the other spellings, or "" if none is known.
	OtherSpelling string
}

// CanonicalSpelling returns a canonical path with the spellings that the profile knows. If
// an object exists, compare its ID first.
func (p *Profile) CanonicalSpelling(name string) string {
	best := ""
	rest := ""
	for _, f := range p.Folded {
		n := len(f.Path) - len(strings.ReplaceAll(f.Path, "/", ""))
		head, tail := cutComponents(name, n)
		if len(f.Path) > len(best) && foldCase(head) == foldCase(f.Path) {
			best, rest = f.Path, tail
		}
	}
	if best == "" {
		return name
	}
	return best + rest
}

// cutComponents splits a path after its first n components. If it has fewer, head is "".
func cutComponents(name string, n int) (head, tail string) {
	for i := 1; i <= len(name); i++ {
		if i == len(name) || name[i] == '/' {
			if n--; n == 0 {
				return name[:i], name[i:]
			}
		}
	}
	return "", ""
}
