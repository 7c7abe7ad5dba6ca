// Package configcmd has the commands about tables of the configuration: preset, import, trust,
// untrust and schema.
package configcmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/presets"
)

type presetCmd struct {
	format, name string
}

func Preset(line *cli.CommandLine) *cobra.Command {
	p := &presetCmd{}
	cmd := line.Command("preset [flags] [NAME]", "Show what a well-known server needs, or list the servers of which that is known.", 1, false, func(args []string) error {
		p.name = cli.FirstOf(args)
		return p.Run(line.Console)
	})
	cmd.Long = `A preset has the hosts, variables, secrets, paths and programs of a server, and
where these facts come from. It grants nothing by its name. To use it, write

    [servers.github]
    preset = "github"
    command = "github-mcp-server"
    arguments = ["stdio"]

or give it to a command:

    mcp-jail run --preset github -- github-mcp-server stdio

Your own keys and flags come on top of it. A file or a host that the server's
arguments or variables name is granted too. To change a preset, copy the part of
its text that begins with [servers. into your configuration.

NAME may also be a package. Without it, the names are listed, each with the
packages, container images and programs that the preset is for. With --format
json, the list is an object with the member presets, and a preset is an object
with the members of its text; config is the part for a configuration. New members
may be added.`
	cmd.Example = `    mcp-jail preset
    mcp-jail preset github
    mcp-jail plan --preset github -- github-mcp-server stdio`
	cli.AddFlags(cmd, cli.FormatFlag(&p.format))
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return cli.ProposePresetsFor(cmd, args, word)
	}
	return cmd
}

// Run prints one preset or the list.
func (p *presetCmd) Run(c terminal.Console) error {
	if p.name != "" {
		return p.printNamed(c)
	}
	all := []presetReport{}
	for _, name := range presets.Names() {
		known, err := presets.Find(name)
		if err != nil {
			return err
		}
		all = append(all, presetReport{Name: known.Name, Title: known.Title, Packages: presetPackages(known)})
	}
	if p.format == "json" {
		cli.PrintJSON(c, map[string]any{"presets": all})
		return nil
	}
	for _, r := range all {
		c.Printf("%s", r.text(c))
	}
	return nil
}

func (p *presetCmd) printNamed(c terminal.Console) error {
	known, err := presets.Find(p.name)
	for _, e := range []presets.Ecosystem{presets.NPM, presets.PyPI, presets.Image, presets.Command} {
		if of, ok := presets.ForPackage(e, p.name); err != nil && ok {
			known, err = of, nil // the name of a package
		}
	}
	var unknown *presets.UnknownError
	switch {
	case errors.As(err, &unknown) && unknown.Near == "":
		return exit.UsageErrorf("%s; `mcp-jail preset` lists them", show.Line(err.Error()))
	case errors.As(err, &unknown):
		return exit.UsageErrorf("%s", show.Line(err.Error()))
	case err != nil:
		return err
	case p.format == "json":
		cli.PrintJSON(c, reportPreset(known))
		return nil
	}
	c.Printf("%s", factsFolded(c, string(known.Text)))
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

// presetNameWidth is the width of the column of names.
const presetNameWidth = 21

func (r presetReport) text(c terminal.Console) string {
	var b strings.Builder
	name := fmt.Sprintf("%-*s", presetNameWidth-1, r.Name)
	indent := strings.Repeat(" ", presetNameWidth)
	if c.TextColumns() < 80 {
		indent = "    "
	}
	b.WriteString(terminal.Hang(c.Paint(terminal.Bold, name)+" ", indent, r.Title, c.TextColumns()) + "\n")
	var names []string
	for _, p := range r.Packages {
		names = append(names, p.Ecosystem+" "+p.Name)
	}
	cli.WriteWrapped(&b, indent, names, c.TextColumns())
	return b.String()
}

// presetReport is a preset in JSON. A list has the first three members only.
type presetReport struct {
	Name     string          `json:"name"`
	Title    string          `json:"title"`
	Packages []presetPackage `json:"packages"`
	*presetFacts
}

type presetFacts struct {
	Variables []presetVariable `json:"variables"`
	Arguments []presetArgument `json:"arguments"`
	Programs  []string         `json:"programs"`
	Stateful  bool             `json:"stateful"`
	ReadOnly  []string         `json:"read_only"`
	Notes     []string         `json:"notes"`
	Sources   []string         `json:"sources"`
	Config    string           `json:"config"`
}

type presetPackage struct {
	Ecosystem string   `json:"ecosystem"`
	Name      string   `json:"name"`
	Versions  []string `json:"versions,omitempty"`
}

type presetVariable struct {
	Name      string   `json:"name"`
	Required  bool     `json:"required"`
	Unless    []string `json:"unless,omitempty"`
	Header    []string `json:"header,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
	HostsFrom []string `json:"hosts_from,omitempty"`
	Injected  bool     `json:"can_be_secret"` // of a net rule
	presetValue
}

type presetArgument struct {
	Flag     string `json:"flag,omitempty"`
	Position int    `json:"position,omitempty"`
	Rest     bool   `json:"rest,omitempty"`
	Required bool   `json:"required"`
	Variable string `json:"variable,omitempty"`
	presetValue
}

type presetValue struct {
	Kind    presets.Kind `json:"kind,omitempty"`
	Secret  bool         `json:"secret"`
	Sent    presets.Sent `json:"sent,omitempty"`
	Checked bool         `json:"checked,omitempty"`
	Scheme  string       `json:"scheme,omitempty"`
	Port    int          `json:"port,omitempty"`
	Below   []string     `json:"below,omitempty"`
	Beside  bool         `json:"beside,omitempty"`
	Rights  string       `json:"rights,omitempty"`
	About   string       `json:"about,omitempty"`
}

func reportPreset(p *presets.Preset) presetReport {
	facts := &presetFacts{
		Variables: []presetVariable{}, Arguments: []presetArgument{}, Programs: cli.NonNil(p.Programs), Stateful: p.Stateful,
		ReadOnly: cli.NonNil(p.ReadOnly), Notes: cli.NonNil(p.Notes), Sources: cli.NonNil(p.Sources), Config: string(p.Config),
	}
	for _, v := range p.Variables {
		facts.Variables = append(facts.Variables, presetVariable{v.Name, v.Required, v.Unless, v.Header, v.Hosts, v.HostsFrom, v.CanBeSecret(), valueOf(v.Value)})
	}
	for _, a := range p.Arguments {
		facts.Arguments = append(facts.Arguments, presetArgument{a.Flag, a.Position, a.Rest, a.Required, a.Variable, valueOf(a.Value)})
	}
	return presetReport{p.Name, p.Title, presetPackages(p), facts}
}

func presetPackages(p *presets.Preset) (out []presetPackage) {
	for _, pkg := range p.Packages {
		out = append(out, presetPackage{string(pkg.Ecosystem), pkg.Name, pkg.Versions})
	}
	return out
}

func valueOf(v presets.Value) presetValue {
	rights := policy.FsRule{Read: v.Read, Create: v.Create, Update: v.Update, Delete: v.Delete, Execute: v.Execute}.Rights()
	out := presetValue{v.Kind, v.Secret, v.Sent, v.Checked, v.Scheme, v.Port, v.Below, v.Beside, "", v.About}
	if rights != 0 {
		out.Rights = rights.String()
	}
	return out
}
