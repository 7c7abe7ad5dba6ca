package config

import (
	"bytes"
	"fmt"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// UnusedServer returns warnings about the tables of a server in the system's and the user's file,
// for a command line that gives its own command to a server of that name: no key of these tables
// holds for it. A file with a mistake gives no warning.
func UnusedServer(o LoadOptions, name string) (unused []policy.Warning) {
	layers, err := o.layers()
	if err != nil {
		return nil
	}
	for _, l := range layers {
		if l.project {
			continue
		}
		data, err := o.read(l)
		if err != nil || !bytes.Contains(data, []byte(name)) {
			continue
		}
		if c, ps := decodeLayer(data, l.path); len(ps) == 0 && c.Servers[name] != nil {
			unused = append(unused, policy.Warning{
				Code: "unused-server", Where: c.Servers[name].Where,
				Message: fmt.Sprintf("[servers.%s] is not used, since the command behind -- has its policy from flags; to use the table, let the client start: %s", show.Key(name), show.Typed("mcp-jail run", name)),
			})
		}
	}
	return unused
}
