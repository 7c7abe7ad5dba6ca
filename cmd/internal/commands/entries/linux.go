package entries

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wsl"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// InLinux returns the error of a command that looks at a server's policy, if the server runs in WSL: what is
// here on Windows says nothing about it.
func InLinux(server string, flags []string) error {
	linux := cmdline.LinuxOf(flags)
	if linux == "" {
		return nil
	}
	return exit.UsageErrorf("%s runs in %s, a Linux of WSL (--wsl), and its policy is about that Linux", show.Name(server), show.Name(linux))
}

// WhereInLinux returns the error of a command that has failed because its server runs in WSL: it has the line
// to type there. words are the command and its operands. It returns nil if the
// command is about another server, or works here.
func WhereInLinux(words []string) error {
	if len(words) == 0 || !slices.Contains([]string{"changes", "check", "grant", "install", "learn", "plan", "rm", "undo", "why"}, words[0]) {
		return nil
	}
	name := ""
	if len(words) > 1 {
		name = words[1]
	}
	servers, err := WrappedServers()
	if err != nil {
		return nil // the command has said what is wrong
	}
	var found *WrappedServer
	for i, w := range servers {
		if name != "" && w.Entry.Server != name && w.line.Name != name {
			continue
		}
		switch linux := cmdline.LinuxOf(w.line.Flags); {
		case linux != "" && found == nil:
			found = &servers[i]
		case linux == "" && name != "":
			return nil // it may be about that one
		}
	}
	if found == nil {
		return nil
	}
	target, err := wsl.ParseTarget(cmdline.LinuxOf(found.line.Flags))
	if err != nil {
		return exit.UsageErrorf("%s: %s", found.Place(), err)
	}
	return found.inLinux(target, words)
}

// inLinux returns the error that says what to type in a distribution in place of a command.
func (w *WrappedServer) inLinux(target wsl.Target, words []string) error {
	server := show.Name(w.Entry.Server)
	runs := server + " runs in " + target.Name + ", a Linux of WSL (--wsl)"
	line, err := target.Line(w.line.Flags, w.line.Argv)
	if err != nil {
		return exit.UsageErrorf("%s, and cannot start there: %s\n  its entry: %s", runs, err, w.Place())
	}
	flags, argv := cmdline.Split("mcp-jail", line)
	flags, argv.Argv = flags[1:], append([]string{"--"}, argv.Argv...)
	var typed []string
	switch words[0] {
	case "grant":
		return exit.UsageErrorf("%s: its policy is about that Linux, and grant cannot show here what would change. Put the flags into the \"args\" of its entry, before --wsl, and start the client again:\n  %s", runs, w.Place())
	case "check", "plan":
		typed = slices.Concat([]string{"mcp-jail", "plan"}, flags, argv.Argv)
	case "install", "learn":
		typed = append([]string{"mcp-jail", words[0]}, argv.Argv...)
	default: // what is kept of the server
		typed = append([]string{"mcp-jail"}, words...)
	}
	return exit.UsageErrorf("%s: %s. `%s` opens a shell there, in which you type\n  %s", runs, about(words[0]), target.Shell(), show.InUnix(shown.Words(typed)))
}

// about says why a command on Windows knows nothing of a server in Linux.
func about(command string) string {
	switch command {
	case "check", "plan", "learn":
		return "its policy is about that Linux"
	case "install":
		return "its package is kept there"
	}
	return "what mcp-jail keeps of it is there"
}
