package learncmd

import (
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy/learn"
)

const (
	maxLooked  = 50000 // names that secretsIn looks at
	maxSecrets = 2000  // files that it returns
)

// foreign are directories with the files of packages, and what git keeps. Keys in them are of tests, or hidden.
var foreign = []string{"node_modules", "site-packages", ".git"}

// secretsIn returns the files in a directory or below it with a name that files with keys and passwords usually
// have. whole is false if there are too many to look at.
func secretsIn(dir string) (files []string, whole bool) {
	looked := 0
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case err != nil:
			return nil // the server does not read there, either
		case looked > maxLooked, len(files) > maxSecrets:
			return fs.SkipAll
		case d.IsDir() && path != dir && slices.Contains(foreign, d.Name()):
			return fs.SkipDir
		case !d.IsDir() && learn.SecretName(d.Name()):
			files = append(files, path)
		}
		return nil
	})
	return files, looked <= maxLooked && len(files) <= maxSecrets
}
