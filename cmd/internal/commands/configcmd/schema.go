package configcmd

import (
	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/policy/schema"
)

// Schema returns the command that prints the JSON Schema of the configuration.
func Schema(line *cli.CommandLine) *cobra.Command {
	cmd := line.Command("schema", "Print the JSON Schema of the configuration, for editors.", 0, false, func([]string) error {
		text, err := schema.Text()
		if err != nil {
			return err
		}
		line.Console.Printf("%s", text)
		return nil
	})
	cmd.Long = `Editors with Taplo, such as VS Code with Even Better TOML, complete and check a
file whose first line names the schema:

    ` + schema.Line[:len(schema.Line)-1] + `

That is the schema of the newest version. For this version, and without a network,
keep a copy beside the file, and write its name:

    #:schema ./mcp-jail.schema.json

The schema says which keys and values there are. ` + "`mcp-jail check`" + ` says whether a
configuration is right.`
	cmd.Example = `    mcp-jail schema >~/.config/mcp-jail/mcp-jail.schema.json`
	return cmd
}
