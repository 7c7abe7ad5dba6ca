package runline_test

import (
	"errors"
	"fmt"

	"github.com/mcp-jail/mcp-jail/packages/runline"
)

func ExampleParse() {
	for _, argv := range [][]string{
		{"npx", "-y", "@modelcontextprotocol/server-memory", "--debug"},
		{"sh", "-c", "exec uvx --from 'mcp-server-git>=1,<2' mcp-server-git -r /repo"},
		{"node", "/srv/weather.js"},
		{"npx", "--prefix", "/srv", "server"},
	} {
		line, err := runline.Parse(argv)
		switch {
		case errors.Is(err, runline.ErrNotLauncher):
			fmt.Println("runs as it is")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(line.Display(), line.Packages[0].Name, line.Packages[0].Want(), line.Args)
		}
	}
	// Output:
	// server-memory @modelcontextprotocol/server-memory latest [--debug]
	// mcp-server-git mcp-server-git >=1,<2 [-r /repo]
	// runs as it is
	// mcp-jail does not take this npx line apart: "--prefix": it changes where npm looks for an installed program first. The line runs as it is given
}
