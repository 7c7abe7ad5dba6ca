// Package commands has the commands of mcp-jail that people type: all but run, which
// mcp-jail itself serves. It is the whole of mcp-jail-cli: see [Program].
//
// The first word after mcp-jail is the command. The words after "--" are the command of a
// server, and are not parsed as flags. This package reads that line, and has the small commands: help,
// preset, doctor, which builds jails, undo, which writes the user's files and the journal of the server,
// and trust, which writes the trust store. The packages below it have the other commands, by subject, and
// do not import this one:
//
//   - wrapcmd: wrap and unwrap, which write the files of clients, with copies and records of them.
//   - statuscmd: status, which also removes the data and records of servers.
//   - grantcmd: grant, which changes what a server may reach: the file of the server.
//   - learncmd: learn, which starts a server again and again, and writes the file of the server.
//   - pkgcmd: install, which writes the lock file and the store of packages.
//   - inspect: check, log, plan and why. They start nothing.
//   - callcmd: call, which starts a server.
//
// Each command has a struct of its flags, a function that returns its cobra.Command, and usually a
// method Run. Package cli has what all of them share, and package index the list of all servers.
package commands

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/callcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/inspect"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/learncmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/pkgcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/statuscmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/wrapcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/presets"
)

// Program is mcp-jail-cli: it runs the command line of this process and exits.
func Program() {
	confine.RunSupervisor() // check, doctor, install and wrap build jails
	c := terminal.New(os.Stdin, os.Stdout, os.Stderr)
	if err := confine.CanPoll(); err != nil {
		c.Errorf("%s", err)
		os.Exit(terminal.Failure)
	}
	if _, err := cmdline.Caller(); err != nil {
		c.WithColours().Errorf("%s", err)
		os.Exit(terminal.Failure)
	}
	c.Umask = cmdline.ClearOwnerUmask()
	os.Exit(main(os.Args[1:], c))
}

// main runs a command line and returns the exit status. If output was lost, the status is
// at least terminal.Failure.
func main(args []string, c terminal.Console) int {
	return terminal.Complete(c, func(c terminal.Console) int { return dispatch(args, c.WithColours()) })
}

func dispatch(all []string, c terminal.Console) int {
	if status, answered := cmdline.Answer(all, c); answered {
		return status
	}
	// The script of a shell asks for proposals.
	if len(all) > 0 && strings.HasPrefix(all[0], cobra.ShellCompRequestCmd) {
		return complete(all, c)
	}
	args, server := cmdline.Split(all)
	line := &cli.CommandLine{Console: c, Server: server}
	root := commandTree(line)
	if slices.ContainsFunc(args, cmdline.IsHelp) {
		return help(line, root, slices.DeleteFunc(slices.Clone(args), cmdline.IsHelp))
	}
	if len(args) > 0 && args[0] == "run" {
		return executeRun(line, all)
	}
	if err := execute(root, args); err != nil {
		status := session.Misuse(c, args, server, err)
		printJSON(c, args, err, status)
		return status
	}
	printJSON(c, args, line.Failed, terminal.Status(line.Failed))
	return terminal.Report(c, line.Failed)
}

// printJSON prints an error as JSON, too, if the command line asks for that and the error is not in what was printed.
func printJSON(c terminal.Console, args []string, err error, status int) {
	var quiet terminal.ReportedStatus
	at := slices.Index(args, "--format")
	asked := slices.Contains(args, "--format=json") || at >= 0 && at+1 < len(args) && args[at+1] == "json"
	if err == nil || !asked || errors.As(err, &quiet) {
		return
	}
	cli.PrintJSON(c, struct {
		Errors []string `json:"errors"`
		Status int      `json:"status"`
	}{[]string{err.Error()}, status})
}

func executeRun(line *cli.CommandLine, args []string) int {
	return terminal.Report(line.Console, cmdline.Execute(cmdline.Main, args))
}

// execute parses args and runs the command that they name. It returns mistakes of the
// command line; the error of the command goes to [cli.CommandLine].Failed.
func execute(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("the name of a command is missing")
	}
	cmd, err := find(root, args[0])
	if err != nil {
		return err
	}
	if err := cli.CheckWords(cmd.Flags(), args[1:]); err != nil {
		return err
	}
	root.SetArgs(args)
	return root.Execute()
}

func find(root *cobra.Command, name string) (*cobra.Command, error) {
	for _, cmd := range root.Commands() {
		if cmd.Name() == name {
			return cmd, nil
		}
	}
	return nil, cmdline.UnknownCommand(name)
}

func commandTree(line *cli.CommandLine) *cobra.Command {
	root := &cobra.Command{
		Use:           cmdline.Main + " COMMAND [ARG...]",
		Short:         "Start MCP servers in a jail that the kernel enforces",
		SilenceErrors: true,
		SilenceUsage:  true,

		DisableFlagsInUseLine: true,
	}
	root.SetOut(line.Console.Writer())
	root.SetErr(line.Console.ErrWriter())
	root.SetFlagErrorFunc(cli.FlagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		line.Console.Printf("%s", cli.HelpText(cmd, line.Console.Width()))
	})
	help := helpCommand(line)
	root.SetHelpCommand(help)
	root.Flags().SortFlags = false
	root.Flags().BoolP("help", "h", false, "List the commands")
	root.Flags().Bool("version", false, "Print the version and what this kernel offers")
	for _, cmd := range []*cobra.Command{runCommand(line), wrapcmd.Wrap(line), wrapcmd.Unwrap(line), statuscmd.Status(line), grantcmd.Grant(line), callcmd.Call(line), learncmd.Learn(line), inspect.Check(line), inspect.Plan(line), preset(line), doctor(line), inspect.Why(line), inspect.Log(line), Undo(line), pkgcmd.Install(line), trust(line), help} {
		cmd.DisableFlagsInUseLine = true
		cmd.Flags().BoolP("help", "h", false, "List the options")
		names := cmd.ValidArgsFunction
		if names == nil && (strings.Contains(cmd.Use, "SERVER") || strings.Contains(cmd.Use, "NAME")) {
			names = index.Propose
		}
		if names != nil {
			cmd.ValidArgsFunction = cli.Candidates(propose(line, names))
		} else if !strings.Contains(cmd.Use, "FILE") { // the library would have the shell propose files
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		root.AddCommand(cmd)
	}
	root.InitDefaultCompletionCmd("completion")
	return root
}

// propose proposes names where a command has them, and files where it may have these.
func propose(line *cli.CommandLine, names cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (found []string, directive cobra.ShellCompDirective) {
		if line.Server.Given {
			return nil, cobra.ShellCompDirectiveDefault
		}
		directive = cobra.ShellCompDirectiveNoFileComp
		if len(args) == 0 || strings.Contains(cmd.Use, "SERVER...") || strings.Contains(cmd.Use, "NAME...") {
			found, directive = names(cmd, args, typed)
		}
		found = slices.DeleteFunc(found, func(name string) bool {
			word, _, _ := strings.Cut(name, "\t")
			return !strings.HasPrefix(word, typed) || slices.Contains(args, word)
		})
		if strings.Contains(cmd.Use, "FILE") {
			directive = cobra.ShellCompDirectiveDefault
		}
		return found, directive
	}
}

// help prints the options of the command that args name.
func help(line *cli.CommandLine, root *cobra.Command, args []string) int {
	cmd, err := find(root, args[0])
	if err != nil {
		return session.Misuse(line.Console, args, cmdline.Server{}, err)
	}
	line.Console.Printf("%s", cli.OptionsText(cmd, line.Console.Width()))
	return terminal.OK
}

// runCommand returns the command run for its help and for completion: mcp-jail itself runs it.
func runCommand(line *cli.CommandLine) *cobra.Command {
	f := &cmdline.RunFlags{}
	cmd := line.Command("run [options] [SERVER | -- COMMAND [ARG...]]", 1, true, nil)
	cmd.Long = `SERVER is the name of a configured server. Without it, give a command after --. It may
then read and write the project folder and has no network, unless options or the
server's own file say otherwise. The options that say it are in ` + "`mcp-jail help rules`" + `.

Standard output has only MCP. mcp-jail ends as the server does, with its exit status or
its signal.`
	cmd.Example = `    mcp-jail run -- npx -y @modelcontextprotocol/server-memory
    mcp-jail run --net api.github.com -- github-mcp-server stdio
    mcp-jail run --read ~/notes --env NOTES_TOKEN -- notes-server ~/notes
    mcp-jail run github`
	cli.AddFlags(cmd, f.Flags()...)
	return cmd
}

func complete(args []string, c terminal.Console) int {
	var owner *hostfs.OwnerError
	if _, err := hostfs.LocalHost(); errors.As(err, &owner) {
		return terminal.Report(c, err) // proposals would come from files of another user
	}
	line := &cli.CommandLine{Console: c}
	line.Server.Given = slices.Contains(args[:len(args)-1], "--") // the last word is being typed
	root := commandTree(line)
	root.SetArgs(args)
	return terminal.Report(c, root.Execute())
}

// preset returns the command preset.
func preset(line *cli.CommandLine) *cobra.Command {
	cmd := line.Command("preset [NAME]", 1, false, func(args []string) error {
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
    mcp-jail grant github --preset github`
	cmd.ValidArgsFunction = cli.ProposePresets
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
		return terminal.UsageErrorf("%s. To see all presets:\n  mcp-jail preset", show.Line(err.Error()))
	case errors.As(err, &unknown):
		return terminal.UsageErrorf("%s", show.Line(err.Error()))
	case err != nil:
		return err
	}
	c.Printf("%s", p.Text) // not folded: it is copied
	return nil
}
