package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/docs"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func helpCommand(line *cli.CommandLine) *cobra.Command {
	cmd := line.Command("help [COMMAND | TOPIC]", 1, false, nil)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("unexpected argument %s", args[1])
		}
		line.Failed = explainTo(line.Console, cmd.Root(), cli.FirstOf(args))
		return nil
	}
	cmd.Long = `A topic is what error messages name, such as fs-read. The code of an error, an exit
status, the reason of a block and the key of a limit lead to their topics, too. The topic
"topics" lists them all, and "rules" has the options about what a server may use. Nothing
is downloaded.`
	cmd.Example = `    mcp-jail help wrap
    mcp-jail help topics
    mcp-jail help fs-read
    mcp-jail help -31001`
	cmd.DisableFlagParsing = true // codes begin with a dash
	cmd.ValidArgsFunction = proposeTopics
	return cmd
}

// explainTo prints what the word after help names.
func explainTo(c terminal.Console, root *cobra.Command, word string) error {
	switch word {
	case "rules":
		c.Printf("%s", cli.RulesText(c.Width()))
		return nil
	case "topics":
		var rows [][2]string
		for _, t := range docs.Topics() {
			rows = append(rows, [2]string{"  " + t.Name, t.Title})
		}
		c.Printf("To read one of these, type `mcp-jail help` and its name.\n\n%s", terminal.Rows(rows, c.Width()))
		return nil
	}
	if cmd, err := find(root, word); err == nil {
		c.Printf("%s", cli.HelpText(cmd, c.Width()))
		return nil
	}
	found, ok := docs.Find(topic(word))
	if !ok {
		names := cmdline.Commands()
		for _, t := range docs.Topics() {
			names = append(names, t.Name)
		}
		near := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, word) })
		if len(near) == 0 {
			near = []string{cmp.Or(config.Suggest(word, names), "topics")}
		}
		return terminal.UsageErrorf("there is no command and no topic %q. Did you mean:\n  mcp-jail help %s", word, strings.Join(near, "\n  mcp-jail help "))
	}
	c.PrintText(found.Text(c.Width(), func(s string) string { return c.Paint(terminal.Bold, s) }))
	return nil
}

// topic returns the name of the page about a code, a status, a reason or a limit. It returns any
// other name as it is.
func topic(name string) string {
	if code, err := strconv.Atoi(name); err == nil {
		switch code {
		case terminal.Failure:
			return string(diagnostics.PageServerEnded)
		case terminal.Usage:
			return string(diagnostics.PageConfig)
		case terminal.Host:
			return string(diagnostics.PageJail)
		case -32600, -32603:
			return string(diagnostics.PageMessage)
		case -32601, -32602:
			return string(diagnostics.PagePerCall)
		}
		if page := diagnostics.PageOfCode(diagnostics.Code(code)); page != "" {
			return string(page)
		}
	}
	switch policy.DenialReason(name) { // whose page is otherwise that of their axis
	case policy.DeniedNotGranted:
		return string(diagnostics.PageNetHost)
	case policy.DeniedAbsent, policy.DeniedOwnHome:
		return string(diagnostics.PageFsWrite)
	}
	for _, page := range []diagnostics.Page{diagnostics.PageOfReason(policy.DenialReason(name)), diagnostics.PageOfLimit(name)} {
		if page != "" {
			return string(page)
		}
	}
	return name
}

func proposeTopics(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, t := range docs.Topics() {
		names = append(names, cobra.CompletionWithDesc(t.Name, t.Title))
	}
	return append(names, append(cmdline.Commands(), "rules", "topics")...), cobra.ShellCompDirectiveNoFileComp
}
