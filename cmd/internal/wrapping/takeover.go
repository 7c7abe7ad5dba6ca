package wrapping

import (
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/identity"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TakeOver has the file of an id take over other words with which it was started, if an entry of the user's own has
// exactly this line, and returns where that is. It returns "" if there is none, or if another entry has the words of
// the file. Variables of the start move no file of a client: an entry of a project's file may have set them.
func TakeOver(configDir string, host clients.Host, id string, given []string) (place string, err error) {
	files, err := Find(clients.Host{OS: host.OS, Home: host.Home, Env: func(string) string { return "" }}, Selection{})
	if err != nil {
		return "", err
	}
	err = config.ChangeServers(configDir, func(servers []*config.ServerFile, _ []error) ([]*config.ServerFile, error) {
		at := slices.IndexFunc(servers, func(f *config.ServerFile) bool { return f.Server.ID == id })
		if at < 0 {
			return servers, nil
		}
		var words []string
		for _, f := range files {
			if f.IsProject() || f.Plugin() != nil {
				continue
			}
			for _, e := range f.Entries {
				line, _ := clients.ParseWrapped(e.Argv())
				if line.ID != id || len(line.Argv) == 0 {
					continue
				}
				switch saved := e.behind(line).saved(host.Home); {
				case isLine(servers[at], saved):
					place = ""
					return servers, nil
				case words == nil && identity.Same(saved, given):
					words, place = saved, fmt.Sprintf("%s, line %d", f.Path, e.Line)
				}
			}
		}
		if words != nil {
			servers[at].Server.Command, servers[at].Server.Arguments = words[0], words[1:]
		}
		return servers, nil
	})
	return place, err
}
