// Package commands has the commands of mcp-jail that people type: all but run, which
// mcp-jail itself serves. It is the whole of mcp-jail-cli: see [Program].
//
// Each command has a file of its name, with a struct of its flags, a function that returns
// its cobra.Command, and usually a method Run. root.go has the code that all commands share,
// flags.go the flags and the errors about them. help.go writes help texts, complete.go proposes
// words to a shell. A test (-update) writes the manual pages in packaging/man from the same texts.
//
// The first word after mcp-jail is the command. The words behind "--" are the command of a
// server, and are not parsed as flags.
//
//   - install and rm write the lock file, the store of packages, and what is kept of servers.
//   - wrap and unwrap write the files of clients, with copies and records of them.
//   - trust and untrust write the trust store.
//   - undo writes the user's files, and the journal of the server.
//   - install and check --probe start servers, which write their private HOMEs.
//
// The package has some 7,100 lines: one to six files for each command. Some commands use files of
// another: wrap uses those of install, and status uses those of wrap and list. With a package for
// each command, some two dozen packages would all need the same file of flags.
package commands

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
)

// front is one command line and the commands that may serve it.
type front struct {
	console terminal.Console
	server  cmdline.Server
	failed  error // of the command, after its command line was accepted
}

// Program is mcp-jail-cli: it runs the command line of this process and exits.
func Program() {
	confine.RunSupervisor() // check, doctor, install and wrap build jails
	c := terminal.New(os.Stdin, os.Stdout, os.Stderr)
	if err := confine.CanPoll(); err != nil {
		c.Errorf("%s", err)
		os.Exit(target.ExitFailure)
	}
	if _, err := programs.Caller(); err != nil {
		c.WithColours().Errorf("%s", err)
		os.Exit(target.ExitFailure)
	}
	c.Umask = programs.ClearOwnerUmask()
	os.Exit(Main(os.Args[1:], c))
}

// Main runs a command line and returns the exit status. If output was lost, the status is
// at least target.ExitFailure.
func Main(args []string, c terminal.Console) int {
	var lost error
	c.WriteErr = &lost
	status := dispatch(args, c.WithColours())
	if lost != nil {
		c.Errorf("the output is not complete: %s", lost)
		status = max(status, target.ExitFailure)
	}
	return status
}

func dispatch(all []string, c terminal.Console) int {
	if len(all) > 0 && strings.HasPrefix(all[0], cobra.ShellCompRequestCmd) {
		return complete(all, c)
	}
	args, server := cmdline.Split(programs.Name(), all)
	switch { // common first attempts
	case len(args) == 0 && !server.Given, len(args) == 1 && args[0] == "help":
		args = []string{"--help"}
	case len(args) == 2 && args[0] == "help":
		args = []string{args[1], "--help"}
	case len(args) > 0 && args[0] == "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	x := &front{console: c, server: server}
	root := x.root()
	if slices.ContainsFunc(args, cmdline.IsHelp) {
		return x.help(root, args)
	}
	if len(args) > 0 && args[0] == "run" {
		return x.executeRun(all)
	}
	if err := x.execute(root, args); err != nil {
		return target.Misuse(c, args, server, err)
	}
	return target.Report(c, x.failed)
}

// executeRun gives a session to mcp-jail.
func (x *front) executeRun(args []string) int {
	return target.Report(x.console, programs.Execute(programs.Main, args))
}

// execute parses args and runs the command that they name. It returns mistakes of the
// command line; the error of the command goes to x.failed.
func (x *front) execute(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("the name of a command is missing")
	}
	cmd, err := find(root, args[0])
	if err != nil {
		return err
	}
	if err := checkWords(cmd.Flags(), args[1:]); err != nil {
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

// root returns the tree of all commands.
func (x *front) root() *cobra.Command {
	root := &cobra.Command{
		Use:           programs.Main + " COMMAND [ARG...]",
		Short:         "Run stdio MCP servers in a kernel-enforced jail.",
		Long:          programDescription,
		SilenceErrors: true,
		SilenceUsage:  true,

		DisableFlagsInUseLine: true,
	}
	root.SetOut(x.console.Writer())
	root.SetErr(x.console.ErrWriter())
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true // complete.go has one
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { x.console.Printf("%s", helpText(cmd)) })
	help := &cobra.Command{Use: "help [COMMAND]", Short: "Show the help of a command."}
	help.ValidArgsFunction = proposeOne(cmdline.Commands())
	root.SetHelpCommand(help)
	root.Flags().SortFlags = false
	root.Flags().BoolP("help", "h", false, "Show this help.")
	for _, cmd := range []*cobra.Command{x.run(), x.wrap(), x.unwrap(), x.status(), x.check(), x.plan(), x.preset(), x.importer(), x.doctor(), x.why(), x.explain(), x.changes(), x.undo(), x.install(), x.list(), x.rm(), x.trust(), x.untrust(), x.version(), x.completion(), x.schema(), help} {
		cmd.DisableFlagsInUseLine = true
		cmd.Flags().BoolP("help", "h", false, "Show this help.")
		if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, "FILE") {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		if f := cmd.ValidArgsFunction; f != nil {
			cmd.ValidArgsFunction = candidates(f)
		}
		root.AddCommand(cmd)
	}
	return root
}

// command returns a command that takes up to most arguments. If forServers is set, it also takes
// a command behind "--".
func (x *front) command(use, short string, most int, forServers bool, run func(args []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.Flags().SortFlags = false
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > most:
			return fmt.Errorf("unexpected argument %s%s", args[most], selectionHint(cmd, args[most]))
		case x.server.Given && !forServers:
			return fmt.Errorf("mcp-jail %s takes no command behind --", cmd.Name())
		}
		x.failed = run(args)
		return nil
	}
	return cmd
}

// anyNumber is the most arguments of a command that takes any number of them.
const anyNumber = 1 << 30

// firstOf returns the first argument, or "".
func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
