package asclient

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
)

// AddNames adds the servers of clients to names that completion proposes.
func (k *Chooser) AddNames(names []string) []string {
	if len(k.Config) > 0 {
		return names
	}
	x, err := k.Read()
	if err != nil { // the command says what is wrong
		return names
	}
	return cli.AddNames(names, x.Names(func(s *index.Server) bool { return len(s.Entries) > 0 }))
}
