package wrapping

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/dotenv"
	"github.com/mcp-jail/mcp-jail/internal/environ"
)

// sharedVariable returns why a client gives mcp-jail a variable that acts on mcp-jail itself, out of
// a file whose variables all of its servers get, or "". argv is the command line of the entry, or nil if
// it starts a server of the user's configuration.
func (j judge) sharedVariable(argv []string, preset bool) clients.Reason {
	for _, c := range j.file.clients() {
		for _, shared := range c.Shared {
			for _, path := range existing(shared.Place, j.host) {
				names, err := sharedNames(shared, path, j.host)
				if err != nil {
					return clients.Reason("gets variables from " + c.Title + " that are not known, because " + path + " cannot be read: " + err.Error())
				}
				for _, name := range names {
					// A variable from the user's own file may do more than one of a project.
					project, may := shared.Place.Scope == clients.Project, environ.User
					if project {
						may = j.projectSetter(argv, preset)
					}
					if project && argv == nil && environ.Steers(name) {
						return clients.Reason("gets " + name + " from " + path + " if " + c.Title + " starts it: the project would choose what a server of your configuration does")
					}
					if !environ.MaySet(name, may) || project && environ.Loads(name) {
						return clients.Reason("gets " + name + " from " + path + " if " + c.Title + " starts it, which acts on mcp-jail itself, outside of the jail")
					}
				}
			}
		}
	}
	return ""
}

func sharedNames(shared clients.Shared, path string, host clients.Host) (names []string, err error) {
	file, err := readPlace(path, shared.Place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case shared.Path == nil:
		return dotenv.Names(string(file.Data), shared.Place.Scope == clients.Project)
	}
	parsed, err := edit.Parse(edit.JSON, file.Data)
	if err != nil {
		return nil, err
	}
	if err := parsed.Ambiguity(edit.Table{Path: shared.Path}); err != nil {
		return nil, err
	}
	value, _, _ := parsed.Lookup(shared.Path...)
	table, _ := value.(map[string]any)
	return slices.Sorted(maps.Keys(table)), nil
}
