package commands

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/docs/explain"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

type explainCmd struct{ name string }

func explainCommand(line *cli.CommandLine) *cobra.Command {
	e := &explainCmd{}
	cmd := line.Command("explain [NAME]", "Explain a kind of failure: what it means, what to do, and when not to do it.", 1, false, func(args []string) error {
		e.name = cli.FirstOf(args)
		return e.Run(line.Console)
	})
	cmd.Long = `NAME is the name of a page, which messages of mcp-jail give in brackets. It may
also be the code of an error, an exit status, the reason of a refusal, or the key
of a limit. Without NAME, the pages are listed. Nothing is fetched.`
	cmd.Example = `    mcp-jail explain
    mcp-jail explain fs-read
    mcp-jail explain -31001
    mcp-jail explain memory_mb`
	cmd.DisableFlagParsing = true // codes begin with a dash
	cmd.ValidArgsFunction = proposePages
	return cmd
}

// Run prints a page, or the list of pages.
func (e *explainCmd) Run(c terminal.Console) error {
	if e.name == "" {
		var rows [][2]string
		for _, name := range explain.Names() {
			page, _ := explain.Find(name)
			rows = append(rows, [2]string{"  " + name, page.Title})
		}
		c.Printf("`mcp-jail explain NAME` prints one of these pages.\n%s", cli.Table("Pages", rows, c.Width()))
		return nil
	}
	page, ok := explain.Find(pageName(e.name))
	if !ok {
		near := config.Suggest(e.name, explain.Names())
		if near != "" {
			near = fmt.Sprintf("; did you mean %q?", near)
		}
		return exit.UsageErrorf("there is no page %q%s\n`mcp-jail explain` lists all pages", e.name, near)
	}
	c.PrintText(page.Text(c.Width(), func(s string) string { return c.Paint(terminal.Bold, s) }))
	return nil
}

// pageName returns the name of the page about a code, a status, a reason or a limit. It returns
// any other name as it is.
func pageName(name string) string {
	if code, err := strconv.Atoi(name); err == nil {
		switch code {
		case exit.Failure:
			return string(diagnostics.PageServerEnded)
		case exit.Usage:
			return string(diagnostics.PageConfig)
		case exit.Host:
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
	case policy.DeniedAbsent:
		return string(diagnostics.PageFsWrite)
	}
	for _, page := range []diagnostics.Page{diagnostics.PageOfReason(policy.DenialReason(name)), diagnostics.PageOfLimit(name)} {
		if page != "" {
			return string(page)
		}
	}
	return name
}

func proposePages(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	for _, name := range explain.Names() {
		page, _ := explain.Find(name)
		names = append(names, cobra.CompletionWithDesc(name, page.Title))
	}
	if len(args) > 0 {
		names = nil
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
