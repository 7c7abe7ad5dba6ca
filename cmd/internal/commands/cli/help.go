package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width of help texts.
const helpWidth = 80

// HelpText returns the help of a command.
func HelpText(cmd *cobra.Command) string {
	text := "Usage: " + cmd.UseLine() + "\n\n" + strings.Join(wrap(cmd.Short, helpWidth), "\n") + "\n"
	if cmd.Long != "" {
		text += "\n" + cmd.Long + "\n"
	}
	if cmd.Example != "" {
		text += "\nExamples:\n" + cmd.Example + "\n"
	}
	return text + Table("Flags", FlagRows(cmd))
}

// FlagRows returns a row for each flag of a command, --help first.
func FlagRows(cmd *cobra.Command) (rows [][2]string) {
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

// Table returns a heading with rows of two columns below it.
func Table(heading string, rows [][2]string) string {
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
