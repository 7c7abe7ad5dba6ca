package learncmd

import (
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// maxLooked is how many names secretsIn looks at.
const maxLooked = 50000

// foreign are directories with the files of packages, and what git keeps. Keys in them are of tests, or hidden.
var foreign = []string{"node_modules", "site-packages", ".git"}

// secretsIn returns the names of files in a directory or below it that files with keys and passwords usually have.
// whole is false if there are too many to look at.
func secretsIn(dir string) (names []string, whole bool) {
	looked := 0
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case err != nil:
			return nil // the server does not read there, either
		case looked > maxLooked:
			return fs.SkipAll
		case d.IsDir() && path != dir && slices.Contains(foreign, d.Name()):
			return fs.SkipDir
		case !d.IsDir() && learn.SecretName(d.Name()) && !slices.Contains(names, d.Name()):
			names = append(names, d.Name())
		}
		return nil
	})
	return names, looked <= maxLooked
}
