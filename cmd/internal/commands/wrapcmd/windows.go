package wrapcmd

import (
	"cmp"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// find returns the selected files.
func (w *changeCmd) find() (hostfs.Host, []*wrapping.File, error) {
	host, files, err := w.Find()
	if err == nil {
		err = w.checkWindows(files)
	}
	return host, files, err
}

// checkWindows returns an error if the files of clients on Windows are asked for where there are none, or
// named without being asked for.
func (w *changeCmd) checkWindows(files []*wrapping.File) error {
	at := slices.IndexFunc(files, wrapping.OnWindows)
	switch {
	case w.OfWindows && len(w.Windows) == 0:
		return exit.UsageErrorf("--windows is for WSL: this is another system, or its drive C has no home directories that can be read")
	case !w.OfWindows && at >= 0:
		return exit.UsageErrorf("%s is a file of a client on Windows: give --windows, and its servers start in this Linux by wsl.exe", files[at].Path)
	}
	return nil
}

// leftOnWindows names the servers of clients on Windows that the command leaves, since it was not asked for them: those
// that are in a jail, or those that are not.
func (w *changeCmd) leftOnWindows(host hostfs.Host, jailed bool) []string {
	if w.OfWindows || len(w.Windows) == 0 || len(w.Files) > 0 {
		return nil
	}
	sel := w.Selection
	sel.OfWindows, sel.Servers = true, nil
	files, err := wrapping.Find(index.ClientsHost(host), sel)
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range files {
		for _, e := range f.Entries {
			_, is := clients.ParseWrapped(e.Argv())
			if wrapping.OnWindows(f) && w.Has(e.Server) && is == jailed && cmp.Or(e.Command, e.URL) != "" && e.Left != clients.Disabled && e.Left != clients.Remote {
				names = append(names, show.Name(e.Server))
			}
		}
	}
	if names == nil {
		return nil
	}
	command, which := "  mcp-jail wrap --windows", " of clients on Windows stay without a jail. To put them into one, in this Linux:"
	if jailed {
		command, which = "  mcp-jail unwrap --windows", " of clients on Windows stay in the jail. To take them out:"
	}
	return []string{listed(unique(names)) + which, command}
}
