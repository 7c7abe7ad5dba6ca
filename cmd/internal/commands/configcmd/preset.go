// Package configcmd has the commands about tables of the configuration: preset, trust and schema.
package configcmd

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/presets"
)

// Preset returns the command preset.
func Preset(line *cli.CommandLine) *cobra.Command {
	cmd := line.Command("preset [NAME]", "Show the ready-made policies for well-known servers", 1, false, func(args []string) error {
		if len(args) == 0 {
			return listPresets(line.Console)
		}
		return showPreset(line.Console, args[0])
	})
	cmd.Long = `A preset is a ready-made policy for a well-known server, with the hosts, variables,
secrets, files and programs that it needs. wrap uses it by itself. NAME is the name of
a preset or of a package. Without it, all presets are listed, each with the packages,
images and programs that it is for.

To use one in a table of your own, write preset = "NAME" into it. Your own keys add to
it. To change a preset, copy the part of its text that begins with [servers. into your
configuration.`
	cmd.Example = `    mcp-jail preset
    mcp-jail preset github
    mcp-jail plan --preset github -- github-mcp-server stdio`
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return cli.ProposePresetsFor(cmd, args, word)
	}
	return cmd
}

// nameWidth is the width of the column of names.
const nameWidth = 21

func listPresets(c terminal.Console) error {
	indent := strings.Repeat(" ", nameWidth)
	if c.TextColumns() < 80 {
		indent = "    "
	}
	for _, name := range presets.Names() {
		p, err := presets.Find(name)
		if err != nil {
			return err
		}
		column := c.Paint(terminal.Bold, p.Name) + strings.Repeat(" ", max(1, nameWidth-len(p.Name)))
		var packages []string
		for _, pkg := range p.Packages {
			packages = append(packages, string(pkg.Ecosystem)+" "+pkg.Name)
		}
		var b strings.Builder
		b.WriteString(terminal.Hang(column, indent, p.Title, c.TextColumns()) + "\n")
		cli.WriteWrapped(&b, indent, packages, c.TextColumns())
		c.Printf("%s", b.String())
	}
	return nil
}

func showPreset(c terminal.Console, name string) error {
	p, err := presets.Find(name)
	for _, e := range []presets.Ecosystem{presets.NPM, presets.PyPI, presets.Image, presets.Command} {
		if of, ok := presets.ForPackage(e, name); err != nil && ok {
			p, err = of, nil // the name of a package
		}
	}
	var unknown *presets.UnknownError
	switch {
	case errors.As(err, &unknown) && unknown.Near == "":
		return exit.UsageErrorf("%s. To see all presets:\n  mcp-jail preset", show.Line(err.Error()))
	case errors.As(err, &unknown):
		return exit.UsageErrorf("%s", show.Line(err.Error()))
	case err != nil:
		return err
	}
	c.Printf("%s", factsFolded(c, string(p.Text)))
	return nil
}

// factsFolded returns the text of a preset for a terminal, with its long facts folded. The part for a
// configuration is as it is, and so is all of it in a pipe.
func factsFolded(c terminal.Console, text string) string {
	facts, table, ok := strings.Cut(text, "\n[servers.")
	if c.TableColumns() == 0 || !ok {
		return text
	}
	var b strings.Builder
	for line := range strings.SplitSeq(facts, "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		b.WriteString(terminal.Hang(indent, indent+"    ", line[len(indent):], c.TextColumns()) + "\n")
	}
	return b.String() + "[servers." + table
}
