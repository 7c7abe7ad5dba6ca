package wrapcmd

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
)

func staysOpen(servers int) string {
	return cli.Plural(servers, "server") + " left as above may start without a jail"
}

func onWindows(servers int) string {
	return cli.Plural(servers, "server") + " on the Windows side, without a jail: `mcp-jail wrap --windows` puts them into one, in this Linux"
}

func fileTitle(c terminal.Console, f *wrapping.File, home string) string {
	return (&screen{c: c, home: home}).heading(f)
}
