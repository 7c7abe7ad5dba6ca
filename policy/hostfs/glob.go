package hostfs

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Glob returns a function that finds what matches a pattern, the shorter names first: chrome-99 comes
// before chrome-100. home is what "~" is in a pattern, and in the names for it. One that ends in a slash matches directories, and
// no links to them.
func Glob(home string) func(pattern string) []string {
	return func(pattern string) []string {
		pattern, dirs := strings.CutSuffix(pattern, "/")
		below, inHome := strings.CutPrefix(pattern, "~/")
		switch {
		case inHome && home == "":
			return nil
		case inHome:
			pattern = filepath.Join(home, below)
		}
		found, _ := filepath.Glob(pattern)
		found = slices.DeleteFunc(found, func(name string) bool {
			info, err := os.Lstat(name)
			return err != nil || dirs && !info.IsDir()
		})
		for i, name := range found {
			if rel, err := filepath.Rel(home, name); inHome && err == nil {
				found[i] = "~/" + rel
			}
		}
		slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
		return found
	}
}
