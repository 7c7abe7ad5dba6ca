package resolve

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// HardLinks returns warnings about files below the writable grants of a profile that have
// another name: writing to them writes there too (docs/policy.md "How a path is found").
//
// Only the command check uses it: it looks at every file, and gives up after limit files. It
// reports only files of the user, with one warning for each grant.
func HardLinks(p *policy.Profile, host hostfs.Host, limit int) (ws []policy.Warning) {
	for _, e := range p.Entries {
		if e.Origin != policy.OriginRule || !e.Rights.Has(policy.Update) || e.Kind != policy.KindDir || e.Make {
			continue
		}
		example, n := "", 0
		todo := []string{e.Path}
		for len(todo) > 0 && limit > 0 {
			dir := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			entries, _ := host.ReadDir(dir)
			for _, d := range entries {
				child := path.Join(dir, d.Name)
				if at, _ := p.Find(child); at.Path != e.Path {
					continue // another entry decides there
				}
				if d.Type.IsDir() {
					todo = append(todo, child)
					continue
				}
				if limit--; limit < 0 || d.Type&^fs.ModeIrregular != 0 {
					continue
				}
				info, err := host.Lstat(child)
				if err == nil && info.Mode.IsRegular() && info.Links > 1 && info.UID == host.UID {
					if n++; example == "" || child < example {
						example = child
					}
				}
			}
		}
		if n > 0 {
			ws = append(ws, policy.Warning{Code: "hard-links", Message: fmt.Sprintf("files in %s have another name elsewhere (%d of them, such as %s): writing to them writes there too", e.Path, n, example), Where: e.Rule})
		}
	}
	return ws
}
