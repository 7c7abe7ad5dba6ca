package configcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/presets/importer"
)

type importCmd struct{ file, server string }

func Import(line *cli.CommandLine) *cobra.Command {
	i := &importCmd{}
	cmd := line.Command("import [flags] FILE", "Make a server's table to begin with from what its publisher says of it.", 1, false, func(args []string) error {
		i.file = cli.FirstOf(args)
		return i.Run(line.Console)
	})
	cmd.Long = `FILE, or standard input for -, is one of

    server.json     of the MCP registry, or an answer of the registry
    manifest.json   of a bundle (MCPB, formerly DXT), which is a ZIP archive
    smithery.yaml   of Smithery
    server.yaml     of Docker's catalogue, or a catalogue of several servers

The table goes to standard output. It grants what the file clearly names, and
nothing besides. A comment says "fill in" where the file does not tell: a value,
a path, a host. Nothing is fetched, run or written, and nothing takes effect until
the table stands in your configuration.`
	cmd.Example = `    mcp-jail import server.json
    mcp-jail import --server github catalog.yaml
    unzip -p server.mcpb manifest.json | mcp-jail import -`
	server := cmdline.Flag{Name: "server", Value: "NAME", One: &i.server, Usage: "The server to take from a catalogue of several."}
	cli.AddFlag(cmd, server, cobra.NoFileCompletions)
	return cmd
}

// maxImport is the most that is read: one byte more than the importer accepts.
const maxImport = 1<<20 + 1

// Run prints the table, and what to do with it on standard error.
func (i *importCmd) Run(c terminal.Console) error {
	if i.file == "" {
		return exit.UsageErrorf("name a file that describes a server, or - for standard input\n  mcp-jail import FILE")
	}
	name := show.Line(i.file)
	if i.file == "-" {
		name = "standard input"
	}
	data, err := i.read(c)
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if err != nil {
		return exit.ConfigErrorf("%s cannot be read: %s", name, err)
	}
	starter, err := importer.Import(data, i.server)
	var format *importer.FormatError
	if errors.As(err, &format) {
		if format.Several {
			format.Message += ": --server NAME"
		}
		return exit.ConfigErrorf("%s: %s", name, show.Line(format.Message))
	}
	if err != nil {
		return err
	}
	c.Printf("%s", starter.Text)
	i.hint(c, starter)
	return nil
}

func (i *importCmd) read(c terminal.Console) ([]byte, error) {
	if i.file == "-" {
		if c.InputIsTerminal() {
			c.Sayf("reading the description from the terminal; Ctrl-D ends it")
		}
		return io.ReadAll(io.LimitReader(c.Input(), maxImport))
	}
	path, err := session.AbsolutePath(i.file)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxImport))
}

func (i *importCmd) hint(c terminal.Console, s importer.Starter) {
	todo := 0
	for line := range strings.Lines(s.Text) {
		if strings.Contains(line, "fill in") || strings.Contains(line, "fill-in") || strings.Contains(line, "/fill/in") {
			todo++
		}
	}
	file := "your configuration"
	if host, err := hostfs.LocalHost(); err == nil {
		file = config.UserConfigFile(host)
	}
	text := fmt.Sprintf("mcp-jail: this is a table for the server %s, from %s.", s.Name, s.Format)
	if todo > 0 {
		text += fmt.Sprintf(" %s to fill in.", pluralHas(todo, "line"))
	}
	c.Notef("%s\nRead it, add it to %s, and try it with `mcp-jail check`", text, show.Line(file))
}

func pluralHas(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " has something"
	}
	return fmt.Sprintf("%d %ss have something", n, noun)
}
