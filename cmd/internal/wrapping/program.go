package wrapping

import (
	"os"
	"slices"
)

// Program is mcp-jail as the files of clients name it.
type Program struct {
	Path string   // absolute; the one that is written
	Also []string // other absolute paths of it, which older entries may name
}

func (p Program) is(path string) bool {
	theirs, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(append([]string{p.Path}, p.Also...), func(own string) bool {
		ours, err := os.Stat(own)
		return err == nil && os.SameFile(theirs, ours)
	})
}
