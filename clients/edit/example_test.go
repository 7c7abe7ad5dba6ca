package edit_test

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/clients/edit"
)

// A program puts two words in front of every server of a file, and shows what changed.
func ExampleFile_Apply() {
	src := []byte(`{
  "mcpServers": {
    "files": { // since May
      "command": "npx",
      "args": ["-y", "files"],
    },
    "remote": { "url": "https://mcp.example.org" },
  }
}
`)
	f, err := edit.Parse(edit.JSON, src)
	if err != nil {
		fmt.Println(err)
		return
	}
	var changes []edit.Change
	for _, s := range f.Servers(edit.Table{Path: []string{"mcpServers"}}) {
		if s.Refused != nil {
			fmt.Println(s.Refused)
			continue
		}
		changes = append(changes, edit.Change{Server: s, Words: []string{"/usr/bin/mcp-jail", "run", "--"}})
	}
	after, err := f.Apply(changes...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(edit.Diff("mcp.json", src, after, 0))
	// Output:
	// the server "remote" is not changed: line 7: it is a remote server, and has no command
	// --- mcp.json
	// +++ mcp.json
	// @@ -4,2 +4,2 @@
	// -      "command": "npx",
	// -      "args": ["-y", "files"],
	// +      "command": "/usr/bin/mcp-jail",
	// +      "args": ["run", "--", "npx", "-y", "files"],
}
