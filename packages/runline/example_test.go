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
		{"bunx", "server"},
	} {
		line, err := runline.Parse(argv)
		switch {
		case errors.Is(err, runline.ErrNotLauncher):
			fmt.Println("runs as it is")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(line.Packages[0].Name, line.Packages[0].Want(), line.Args)
		}
	}
	// Output:
	// @modelcontextprotocol/server-memory latest [--debug]
	// mcp-server-git >=1,<2 [-r /repo]
	// runs as it is
	// this npx line runs as it is given, and its package is not pinned, because of "--prefix": of its options mcp-jail understands only --package, --quiet, --yes, -p, -q, -y
	// this bunx line runs as it is given, and its package is not pinned, because mcp-jail fetches packages for npx and uvx lines only. Start the package with npx -y PACKAGE, which mcp-jail fetches once and pins
}
