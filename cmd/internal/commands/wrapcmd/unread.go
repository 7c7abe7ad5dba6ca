package wrapcmd

import (
	"errors"
	"fmt"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// printNamed names the servers that no file has, so that wrap cannot put them into a jail.
func printNamed(c terminal.Console, host hostfs.Host, sel wrapping.Selection) {
	for _, b := range wrapping.Unread(index.ClientsHost(host), sel) {
		if b.Starts {
			c.PrintText(fmt.Sprintf("\nnot read: %s  %s: %s\n", b.Client.Title, show.Name(cli.ShortPath(b.Path, host.Home)), b.Why))
		}
	}
}

// refresh notes the files of plugins that are wrapped, and not as wrap wrote them.
func (w *wrapCmd) refresh(host hostfs.Host, files []*wrapping.File) (err error) {
	for _, f := range files {
		if !w.dryRun {
			err = errors.Join(err, wrapping.Refresh(f, host.StateDir))
		}
	}
	return err
}
