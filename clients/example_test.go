package clients_test

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
)

// An entry goes into the jail and comes out again.
func Example() {
	cursor, err := clients.ByName("Cursor")
	if err != nil {
		panic(err)
	}
	place := cursor.Places[0]
	at, _ := place.Locate(clients.Host{OS: "linux", Home: "/home/me"})
	fmt.Println(at.File, place.Format, place.Tables[0].Path)

	// A parser found this in the file.
	entry := cursor.Entry(clients.Item{
		Table: place.Tables[0],
		Path:  []string{"mcpServers", "memory"},
		Line:  3,
		Value: map[string]any{"command": "npx", "args": []any{"-y", "@modelcontextprotocol/server-memory"}},
	})
	edit, err := entry.Wrap(clients.Wrapping{Program: "/usr/bin/mcp-jail", ID: "memory-4k7q2m9x3vt5"})
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.Join(edit.Apply(entry.Argv()), " "))

	// Output:
	// /home/me/.cursor/mcp.json jsonc [mcpServers]
	// /usr/bin/mcp-jail run --id memory-4k7q2m9x3vt5 -- npx -y @modelcontextprotocol/server-memory
}
