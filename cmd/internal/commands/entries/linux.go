package entries

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// InLinux returns the error of a command that looks at a server's policy, if the server runs in WSL: what is
// here on Windows says nothing about it.
func InLinux(server string, flags []string) error {
	linux := cmdline.LinuxOf(flags)
	if linux == "" {
		return nil
	}
	return exit.UsageErrorf("%s runs in %s, a Linux of WSL (--wsl), and its policy is about that Linux: type the command there, with the command line of the server", show.Name(server), show.Name(linux))
}
