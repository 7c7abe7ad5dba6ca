package policy

import (
	"fmt"
	"io/fs"
	"path"
)

// HardLinks looks for files below the writable grants of a profile that have
// another name: what is written there is written elsewhere too (docs/policy.md
// "Hard links").
// It is for check, not for a start: it looks at every file, and gives up after
// limit of them. Only files of the user are reported, one warning a grant.
func HardLinks(p *Profile, host Host, limit int) (ws []Warning) {
	for _, e := range p.Entries {
		if e.Origin != OriginRule || !e.Rights.Has(Update) || e.Kind != KindDir || e.Make {
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
			ws = append(ws, Warning{"hard-links", fmt.Sprintf("%s holds %d files that have another name elsewhere (%s): writing to them writes there too", e.Path, n, example), e.Rule})
		}
	}
	return ws
}
