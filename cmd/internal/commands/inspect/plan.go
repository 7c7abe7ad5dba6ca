// Package inspect has the commands that explain, start nothing and change nothing: plan, check, why and log.
//
//   - plan.go, check.go, why.go and log.go have the commands, with their flags and steps: begin there.
//   - report.go says what one server may use, for both and for trust; text.go and tools.go print that.
package inspect

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

type planCmd struct {
	cmdline.ConfigFlags
	cmdline.PolicyFlags
	format, tool, serverName string
	verbose                  bool
}

// Plan returns the command plan.
func Plan(line *cli.CommandLine) *cobra.Command {
	p := &planCmd{}
	cmd := line.Command("plan [options] [NAME | -- COMMAND [ARG...]]", 1, true, func(args []string) error {
		p.serverName = cli.FirstOf(args)
		return p.run(line.Console, line.Server)
	})
	cmd.Long = `NAME is one of the servers that mcp-jail status shows. Without it, give a command
after --, with the flags of mcp-jail run. plan starts nothing.

It lists the files, hosts, variables and programs that the server may use, its
limits, and what this machine does not enforce. The exit status is 3 if the server
does not start because of that.`
	cmd.Example = `    mcp-jail plan github
    mcp-jail plan --read ~/notes -- notes-server ~/notes`
	cli.AddFlags(cmd, p.ConfigFlags.Flags()...)
	cli.AddFlags(cmd, p.PolicyFlags.Flags()...)
	cli.AddFlags(cmd, cli.FormatFlag(&p.format))
	cli.AddFlags(cmd, cmdline.Flag{Name: "tool", Value: "TOOL", One: &p.tool, Usage: "Show what this tool of a per-call server may use"})
	cmd.Flags().BoolVar(&p.verbose, "verbose", false, "Also show the kernel's part, and what every server gets")
	return cmd
}

func (p *planCmd) run(c terminal.Console, server cmdline.Server) error {
	if p.serverName == "" && len(server.Argv) == 0 {
		return terminal.UsageErrorf("plan needs the name of a server, or a command after --:\n  mcp-jail plan NAME\n  mcp-jail plan [options] -- COMMAND [ARG...]")
	}
	t, by, err := p.resolve(server)
	if err != nil && t.InstallsAfter(err) {
		return fmt.Errorf("%s. There is a plan when it is installed, because %s is not on this machine", t.Package.Text(), t.Policy.Command)
	}
	if err != nil {
		return err
	}
	if p.tool != "" {
		if !slices.Contains(t.Config.ToolsWithTable(t.Policy.Server), p.tool) {
			t.Warnings = append(t.Warnings, undeclaredToolWarning(t, p.tool))
		}
	}
	r, err := newReport(t)
	if err != nil {
		return err
	}
	if p.format == "json" {
		cli.PrintJSON(c, r)
		return r.Err()
	}
	if by != nil {
		c.PrintText(fmt.Sprintf("As %s starts it (%s)\n\n", by.File.Client.Title, by.Place()))
	}
	c.PrintText(r.Text(c, p.verbose))
	if !p.verbose {
		c.PrintText(c.Paint(terminal.Dim, "\nWith --verbose: also the kernel's part, and what every server gets.") + "\n")
	}
	return r.Err()
}

// resolve resolves the policy of the command after --, or of the server that the word means: as the configuration has it,
// or as a client starts it in mcp-jail, which it also returns.
func (p *planCmd) resolve(server cmdline.Server) (t *session.Target, by *index.Entry, err error) {
	if !server.Given && len(p.Config) == 0 {
		x, err := index.Read()
		if err != nil {
			return nil, nil, err
		}
		s, err := x.Pick(p.serverName, (*index.Server).IsDeclared)
		if err != nil {
			return nil, nil, err
		}
		if s.Table == nil {
			return p.resolveEntry(x, s)
		}
		p.serverName = s.Table.Name
		if e := s.EntryByName(); e != nil {
			if _, _, err := e.UseEnv(true); err != nil {
				return nil, nil, err
			}
		}
	}
	t, err = session.Resolve(p.ConfigFlags, p.PolicyFlags, p.serverName, p.tool, server)
	return t, nil, err
}

func (p *planCmd) resolveEntry(x *index.Index, s *index.Server) (t *session.Target, e *index.Entry, err error) {
	given := p.PolicyFlags.FirstSet()
	switch e, err = s.JailedEntry(p.serverName); {
	case err != nil:
		return nil, nil, x.Untrusted(err)
	case given != "":
		return nil, nil, terminal.UsageErrorf("%s is for a command after --; the flags of %s are in the file of its client. With more flags:\n  %s", given, p.serverName, e.PlanLine(p.PolicyFlags.Words()))
	}
	if t, err = e.LoadWith(config.LoadOptions{}, p.Waive, p.tool); err == nil {
		err = t.Resolve()
	}
	return t, e, err
}
