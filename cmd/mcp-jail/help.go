package main

import (
	"fmt"
	"slices"
	"strings"
)

const programDescription = `Run stdio MCP servers in a kernel-enforced jail (Landlock, seccomp, namespaces).

In a client's configuration, replace  "command": "npx", "args": ["-y", "PACKAGE"]
by  "command": "mcp-jail", "args": ["run", "--", "npx", "-y", "PACKAGE"].`

// helpWidth is the width of help texts.
const helpWidth = 80

func isHelpFlag(arg string) bool { return arg == "--help" || arg == "-h" }

// help prints the help that a command line asks for and returns the exit status.
func help(c console, args []string) int {
	i := slices.IndexFunc(args, func(a string) bool { return !isHelpFlag(a) })
	if i < 0 {
		c.printf("%s", programHelp())
		return exitOK
	}
	s, err := findSubcommand(args[i])
	if err != nil {
		return reportMisuse(c, args[i:], serverCommand{}, err)
	}
	c.printf("%s", s.helpText())
	return exitOK
}

func programHelp() string {
	rows := [][2]string{}
	for _, s := range subcommands() {
		rows = append(rows, [2]string{"  " + s.name, s.help})
	}
	return "Usage: mcp-jail <command>\n\n" + programDescription + "\n" +
		table("Flags", [][2]string{helpFlag}) + table("Commands", rows) +
		"\nRun \"mcp-jail <command> --help\" for more information on a command.\n"
}

var helpFlag = [2]string{"  -h, --help", "Show this help."}

// helpText returns the help of a subcommand.
func (s subcommand) helpText() string {
	p := s.parser()
	usage := "Usage: mcp-jail " + s.name
	var arguments [][2]string
	for _, a := range p.Args() {
		usage += " [" + a.Name + "]"
		arguments = append(arguments, [2]string{"  [" + a.Name + "]", a.Description})
	}
	rows := [][2]string{helpFlag}
	for _, o := range options(p) {
		flag := "      --" + o.LongName
		if o.ValueName != "" {
			flag += "=" + o.ValueName
		}
		rows = append(rows, [2]string{flag, o.Description})
	}
	if len(rows) > 1 {
		usage += " [flags]"
	}
	text := usage + "\n\n" + strings.Join(wrap(s.help, helpWidth), "\n") + "\n"
	if h, ok := s.flags.(interface{ Help() string }); ok {
		text += "\n" + h.Help() + "\n"
	}
	return text + table("Arguments", arguments) + table("Flags", rows)
}

// table returns a heading with rows of two columns below it.
func table(heading string, rows [][2]string) string {
	if len(rows) == 0 {
		return ""
	}
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
