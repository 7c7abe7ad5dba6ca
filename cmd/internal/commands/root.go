// Package commands has the commands of mcp-jail that people type: all but run, which
// mcp-jail itself serves. It is the whole of mcp-jail-cli: see [Program].
//
// The first word after mcp-jail is the command. The words after "--" are the command of a
// server, and are not parsed as flags. This package reads that line, and has help. The packages below it
// have the other commands, by subject, and do not import this one:
//
//   - wrapcmd: wrap and unwrap, which write the files of clients, with copies and records of them.
//   - statuscmd: status, which also removes the data and records of servers.
//   - grantcmd: grant, which changes what a server may reach: the flags of its entry in a client's file.
//   - pkgcmd: install, which writes the lock file and the store of packages.
//   - inspect: check, plan and why. They start nothing.
//   - doctorcmd: doctor, which builds jails.
//   - callcmd: call, which starts a server.
//   - undocmd: undo, which writes the user's files, and the journal of the server.
//   - configcmd: preset and trust, which writes the trust store.
//
// Each command has a file of its name, with a struct of its flags, a function that returns its
// cobra.Command, and usually a method Run. Package cli has what all of them share, and package
// entries how they choose the servers in clients' files. A test (-update) writes the manual pages
// in packaging/man from the help texts.
package commands

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/callcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/configcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/doctorcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/inspect"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/learncmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/pkgcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/statuscmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/undocmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/wrapcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/spf13/cobra"
)

// Program is mcp-jail-cli: it runs the command line of this process and exits.
func Program() {
	confine.RunSupervisor() // check, doctor, install and wrap build jails
	c := terminal.New(os.Stdin, os.Stdout, os.Stderr)
	if err := confine.CanPoll(); err != nil {
		c.Errorf("%s", err)
		os.Exit(exit.Failure)
	}
	if _, err := programs.Caller(); err != nil {
		c.WithColours().Errorf("%s", err)
		os.Exit(exit.Failure)
	}
	c.Umask = programs.ClearOwnerUmask()
	os.Exit(Main(os.Args[1:], c))
}

// Main runs a command line and returns the exit status. If output was lost, the status is
// at least exit.Failure.
func Main(args []string, c terminal.Console) int {
	var lost error
	c.WriteErr = &lost
	status := dispatch(args, c.WithColours())
	if lost != nil {
		c.Errorf("the output is not complete: %s", lost)
		status = max(status, exit.Failure)
	}
	return status
}

func dispatch(all []string, c terminal.Console) int {
	// The script of a shell asks for proposals.
	if len(all) > 0 && strings.HasPrefix(all[0], cobra.ShellCompRequestCmd) {
		return complete(all, c)
	}
	args, server := cmdline.Split(all)
	switch {
	case len(args) == 0 && !server.Given:
		args = []string{"help"}
	case len(args) == 1 && args[0] == "--version":
		printVersion(c)
		return exit.OK
	}
	line := &cli.CommandLine{Console: c, Server: server}
	root := commandTree(line)
	if slices.ContainsFunc(args, cmdline.IsHelp) {
		return help(line, root, args)
	}
	if len(args) > 0 && args[0] == "run" {
		return executeRun(line, all)
	}
	if err := execute(root, args); err != nil {
		return session.Misuse(c, args, server, err)
	}
	return exit.Report(c, line.Failed)
}

func executeRun(line *cli.CommandLine, args []string) int {
	return exit.Report(line.Console, programs.Execute(programs.Main, args))
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
		Use:           programs.Main + " COMMAND [ARG...]",
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
	for _, cmd := range []*cobra.Command{runCommand(line), wrapcmd.Wrap(line), wrapcmd.Unwrap(line), statuscmd.Status(line), grantcmd.Grant(line), callcmd.Call(line), learncmd.Learn(line), inspect.Check(line), inspect.Plan(line), configcmd.Preset(line), doctorcmd.Doctor(line), inspect.Why(line), undocmd.Undo(line), pkgcmd.Install(line), configcmd.Trust(line), help} {
		cmd.DisableFlagsInUseLine = true
		cmd.Flags().BoolP("help", "h", false, "List the options")
		// Without a function, the library would have the shell propose files.
		if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, "FILE") {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		if f := cmd.ValidArgsFunction; f != nil {
			cmd.ValidArgsFunction = cli.Candidates(f)
		}
		root.AddCommand(cmd)
	}
	root.InitDefaultCompletionCmd("completion")
	return root
}

// help prints the options of the command that args name.
func help(line *cli.CommandLine, root *cobra.Command, args []string) int {
	i := slices.IndexFunc(args, func(a string) bool { return !cmdline.IsHelp(a) })
	if i < 0 {
		line.Console.Printf("%s", programHelp(root, line.Console.Width()))
		return exit.OK
	}
	cmd, err := find(root, args[i])
	if err != nil {
		return session.Misuse(line.Console, args[i:], cmdline.Server{}, err)
	}
	line.Console.Printf("%s", cli.OptionsText(cmd, line.Console.Width()))
	return exit.OK
}

// run returns the command run for its help and for completion: mcp-jail itself runs it.
func runCommand(line *cli.CommandLine) *cobra.Command {
	f := &cmdline.RunFlags{}
	cmd := line.Command("run [options] [SERVER | -- COMMAND [ARG...]]", "Start a server in its jail (your clients do this for you)", 1, true, nil)
	cmd.Long = `SERVER is the name of a configured server. Without it, give a command after --. It may
then read and write the project folder and has no network, unless options or the
server's own file say otherwise. The options that say it are in ` + "`mcp-jail help rules`" + `.

Standard output has only MCP. mcp-jail ends as the server does, with its exit status or
its signal.`
	cmd.Example = `    mcp-jail run -- npx -y @modelcontextprotocol/server-memory
    mcp-jail run --preset github -- github-mcp-server stdio
    mcp-jail run --read ~/notes --env NOTES_TOKEN -- notes-server ~/notes
    mcp-jail run github`
	cli.AddFlags(cmd, f.Flags()...)
	cmd.ValidArgsFunction = cli.ProposeServers(line, &f.ConfigFlags)
	return cmd
}
