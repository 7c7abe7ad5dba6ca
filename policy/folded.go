package policy

import (
	"strings"
)

// A Folded is a name that its filesystem finds under other spellings too: one of an
// entry, of a name that must not come into being, or of a directory on the way to these.
// Some filesystems ignore case (vfat, ext4 with casefold, the disk of Windows or of a Mac
// that is seen from Linux), and then often more than case. So it is the object that has
// to be looked at, and its spelling only where there is no object.
type FoldedName struct {
	Path string
	ID   FileID // zero where nothing is there
	// Passed says that for the kernel another spelling is another name: what is mounted
	// on Path is not found under it.
	BypassesMount bool
	// Other is one of the other spellings, "" where none is known.
	OtherSpelling string
}

// CanonicalSpelling is a canonical path with the spellings that the profile knows. Where an object
// is meant, ask for it by its identity first.
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

// cutComponents cuts a path behind its first n names. head is "" where it has fewer.
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
