package asclient

import "github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"

// AddNames adds the servers of clients to names that completion proposes.
func (k *Chooser) AddNames(names []string) []string {
	if len(k.Config) > 0 {
		return names
	}
	_, files, err := k.Find()
	if err != nil { // the command says what is wrong
		return names
	}
	for _, f := range files {
		for _, e := range f.Entries {
			names = cli.AddNames(names, []string{cli.Described(e.Server, f.Client.Title)})
		}
	}
	return names
}
