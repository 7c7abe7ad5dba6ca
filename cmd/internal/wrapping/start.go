package wrapping

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping/internal/meaning"
)

func (s Entry) dir(host clients.Host) string {
	dir, ok := meaning.Replaced(s.by.client, s.Cwd, host)
	if !ok || !filepath.IsAbs(dir) {
		dir = filepath.Join(host.Project, dir)
	}
	return dir
}

// Leave leaves an entry of the file.
func (f *File) Leave(key string, why clients.Reason) {
	for i := range f.Entries {
		if f.Entries[i].Key() == key {
			f.Entries[i].Left, f.Entries[i].Detail = why, ""
		}
	}
}

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
