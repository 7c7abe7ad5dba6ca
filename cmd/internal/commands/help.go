package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
)

const programDescription = `Run stdio MCP servers in a kernel-enforced jail (Landlock, seccomp, namespaces).

In a client's configuration, replace  "command": "npx", "args": ["-y", "PACKAGE"]
by  "command": "mcp-jail", "args": ["run", "--", "npx", "-y", "PACKAGE"].`

// helpWidth is the width of help texts.
const helpWidth = 80

// help prints the help that a command line asks for and returns the exit status.
func (x *front) help(root *cobra.Command, args []string) int {
	i := slices.IndexFunc(args, func(a string) bool { return !cmdline.IsHelp(a) })
	if i < 0 {
		x.console.Printf("%s", programHelp(root))
		return target.ExitOK
	}
	cmd, err := find(root, args[i])
	if err != nil {
		return target.Misuse(x.console, args[i:], cmdline.Server{}, err)
	}
	x.console.Printf("%s", helpText(cmd))
	return target.ExitOK
}

func programHelp(root *cobra.Command) string {
	var rows [][2]string
	for _, name := range cmdline.Commands() {
		if cmd, err := find(root, name); err == nil {
			rows = append(rows, [2]string{"  " + name, cmd.Short})
		}
	}
	return "Usage: mcp-jail <command>\n\n" + programDescription + "\n" +
		table("Flags", flagRows(root)) + table("Commands", rows) +
		"\nRun \"mcp-jail <command> --help\" for more information on a command.\n"
}

// helpText returns the help of a command.
func helpText(cmd *cobra.Command) string {
	text := "Usage: " + cmd.UseLine() + "\n\n" + strings.Join(wrap(cmd.Short, helpWidth), "\n") + "\n"
	if cmd.Long != "" {
		text += "\n" + cmd.Long + "\n"
	}
	if cmd.Example != "" {
		text += "\nExamples:\n" + cmd.Example + "\n"
	}
	return text + table("Flags", flagRows(cmd))
}

// flagRows returns a row for each flag of a command, --help first.
func flagRows(cmd *cobra.Command) (rows [][2]string) {
	rows = [][2]string{{"  -h, --help", "Show this help."}}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		name := "      --" + f.Name
		if f.NoOptDefVal == "" {
			name += "=" + f.Value.Type()
		}
		rows = append(rows, [2]string{name, f.Usage})
	})
	return rows
}

// table returns a heading with rows of two columns below it.
func table(heading string, rows [][2]string) string {
	left := 0
	for _, r := range rows {
		left = max(left, len(r[0])+2)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s:\n", heading)
	for _, r := range rows {
		for i, line := range wrap(r[1], helpWidth-left) {
			if i > 0 {
				r[0] = ""
			}
			fmt.Fprintf(&b, "%-*s%s\n", left, r[0], line)
		}
	}
	return b.String()
}

// wrap breaks text between words into lines of at most width bytes.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
