// Package cli has what the commands of mcp-jail share: the command line, flags and the errors about
// them, help texts, proposals for a shell, questions, tables, amounts and times as text.
//
// It prints, asks on the terminal, and touches nothing else. Begin at [CommandLine], which every command gets.
package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/presets"
)

// Propose has a shell propose words for the value of a flag.
func Propose(cmd *cobra.Command, flag string, words cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, Candidates(words)); err != nil {
		panic(err) // the flag has just been added
	}
}

// Candidates leaves out the proposals that the script of a shell would act on. The names may come
// from a cloned repository or from a server. Every proposal passes it: see root and propose.
func Candidates(words cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (lines []string, directive cobra.ShellCompDirective) {
		found, directive := words(cmd, args, typed)
		for _, f := range found {
			word, about, _ := strings.Cut(f, "\t")
			if line, ok := show.Candidate(word, about); ok {
				lines = append(lines, line)
			}
		}
		return lines, directive
	}
}

// proposals returns what a shell may propose for the value of a flag: nil means files.
func proposals(f cmdline.Flag) cobra.CompletionFunc {
	words := func(words []string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	switch f.Name {
	case "read", "write", "execute", "deny":
		return nil
	case "workspace":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case "waive":
		return words(cmdline.Waivers())
	case "home":
		return words([]string{"private", "real"})
	case "client":
		return words(clients.Names())
	case "preset":
		return ProposePresets
	case "limit":
		return words(config.LimitNames())
	}
	if f.Value == "FILE" {
		return nil
	}
	return words(f.Words)
}

// ProposePresets proposes the presets, with what they are for.
func ProposePresets(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, name := range presets.Names() {
		if p, err := presets.Find(name); err == nil {
			names = append(names, cobra.CompletionWithDesc(name, p.Title))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CommandLine is one command line and the commands that may serve it.
type CommandLine struct {
	Console terminal.Console
	Server  cmdline.Server
	Failed  error // of the command, after its command line was accepted
}

// Command returns a command that takes up to most arguments. If forServers is set, it also takes
// a command after "--".
func (line *CommandLine) Command(use string, most int, forServers bool, run func(args []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use}
	cmd.Short = cmdline.About(cmd.Name())
	cmd.Flags().SortFlags = false
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > most:
			return fmt.Errorf("%s takes no argument %s%s", cmd.Name(), show.Name(args[most]), selectionHint(cmd, args[most]))
		case line.Server.Given && !forServers:
			return fmt.Errorf("mcp-jail %s takes no command after --", cmd.Name())
		}
		line.Failed = run(args)
		return nil
	}
	return cmd
}

// AnyNumber is the most arguments of a command that takes any number of them.
const AnyNumber = 1 << 30

// FirstOf returns the first argument, or "".
func FirstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func selectionHint(cmd *cobra.Command, word string) string {
	if cmd.Flags().Lookup("client") == nil {
		return ""
	}
	flag := " --server"
	if c, err := clients.ByName(word); err == nil {
		flag, word = " --client", c.Name
	} else if strings.ContainsAny(word, "/.") {
		flag = " --file"
	}
	if line, ok := show.TypedOK("mcp-jail "+cmd.Name()+flag, word); ok {
		return ". Did you mean:\n  " + line
	}
	return ""
}
