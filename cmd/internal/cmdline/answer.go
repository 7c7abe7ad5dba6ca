package cmdline

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
)

// commands returns all commands, each with what it does.
func commands() [][2]string {
	return [][2]string{
		{"wrap", "Put your clients' MCP servers in a jail"},
		{"status", "Show your servers: in a jail or not, last use, last failure"},
		{"why", "Explain why a server failed and what to do about it"},
		{"log", "Show what a server did"},
		{"grant", "Allow a server more, or take it back"},
		{"call", "Call a server's tool from the terminal, in its jail"},
		{"undo", "Restore files that a server changed"},
		{"unwrap", "Take servers out of the jail again"},
		{"doctor", "Check that jails work on this machine"},
		{"run", "Start a server in its jail (your clients do this for you)"},
		{"plan", "Show everything that a server may use"},
		{"check", "Find mistakes in the policies of all servers"},
		{"learn", "Try a server's tools and propose the policy that they need"},
		{"install", "Download a server's package and pin its version, or update it"},
		{"trust", "Read and accept the .mcp-jail.toml of a project"},
		{"preset", "Show the ready-made policies for well-known servers"},
		{"help", "Explain a command, or a topic such as fs-read"},
	}
}

// everyDay is how many of the commands the help of mcp-jail shows first.
const everyDay = 9

// About says what a command does.
func About(name string) string { return commands()[slices.Index(Commands(), name)][1] }

// Answer answers what needs neither mcp-jail-cli nor its library: --version, the list of commands, and a shell that completes
// the name of one. It returns the exit status, and whether it has.
func Answer(all []string, c terminal.Console) (status int, answered bool) {
	status = terminal.Complete(c, func(c terminal.Console) int {
		answered = answer(all, c)
		return terminal.OK
	})
	return status, answered
}

func answer(all []string, c terminal.Console) bool {
	args, server := Split(all)
	switch {
	case len(args) == 0 && server.Given:
		return false
	case len(args) == 1 && args[0] == "help", !slices.ContainsFunc(args, func(a string) bool { return !IsHelp(a) }):
		var rows [][2]string
		for _, command := range commands() {
			rows = append(rows, [2]string{"  " + command[0], command[1]})
		}
		c.Printf("mcp-jail starts MCP servers in a jail that the kernel enforces.\n\nUsage: mcp-jail COMMAND\n%s%s\n%s\n",
			terminal.Table("Everyday commands", rows[:everyDay], c.Width()), terminal.Table("Other commands", rows[everyDay:], c.Width()),
			terminal.Hang("", "", "For the options of a command, type `mcp-jail COMMAND --help`, and for all about it `mcp-jail help COMMAND`.", c.Width()))
	case len(args) == 1 && args[0] == "--version":
		printVersion(c)
	case len(all) == 2 && all[0] == "__complete" && !strings.HasPrefix(all[1], "-"):
		for _, name := range slices.Sorted(slices.Values(Commands())) {
			if strings.HasPrefix(name, all[1]) {
				c.Printf("%s\t%s\n", name, About(name))
			}
		}
		c.Printf(":4\n") // and no file
	default:
		return false
	}
	return true
}

// printVersion prints the version and the features of the running kernel.
func printVersion(c terminal.Console) {
	c.Printf("mcp-jail %s\ncommit   %s\ngo       %s %s/%s\n", Version(), Commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	f := confine.Probe()
	kernel := f.System()
	for _, n := range f.List() {
		if n.Answer == confine.Yes {
			kernel += ", " + n.Name
			if n.Name == "landlock" {
				kernel += fmt.Sprintf(" %d", f.LandlockABI)
			}
		}
	}
	width := c.TableColumns()
	if width == 0 {
		width = len(kernel) + 9 // scripts read the line
	}
	c.Printf("%s\n", terminal.Hang("kernel   ", "         ", kernel, width))
}
