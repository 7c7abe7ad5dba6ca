package entries

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Meant returns what a user means who types the name of a server of which something is kept. Besides what
// [cli.Meant] knows, it is the name of an entry of a client: without --name, mcp-jail keeps its server under
// another one.
func Meant(host hostfs.Host, typed string) cli.StoredName {
	n := cli.Meant(host, typed)
	names, err := stored.Names(host)
	if err != nil || typed == "" || n.Project != "" || slices.Contains(names, n.Stored) {
		return n
	}
	for id, name := range OwnNames(host) {
		if name == typed && slices.Contains(names, id) {
			n.Stored = id
			return n
		}
	}
	if kept := keptNames(host, typed); len(kept) == 1 && slices.Contains(names, kept[0]) {
		n.Stored = kept[0]
	}
	return n
}

// keptNames returns the names under which mcp-jail keeps the servers of the jailed entries of a name.
func keptNames(host hostfs.Host, entry string) (names []string) {
	_, files, err := (&Choice{}).Find()
	if err != nil {
		return nil
	}
	for _, f := range files {
		for _, e := range f.Entries {
			line, wrapped := clients.ParseWrapped(e.Argv())
			if !wrapped || e.Server != entry {
				continue
			}
			if name := KeptName(f, e, line, host); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
