package inspect

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// serverArgument returns the server that the arguments name, or "" if they are files. It decides
// by the word alone, and not by the files that exist: --probe starts the servers of a file, and a
// project may have a file of any name.
func serverArgument(args []string) string {
	if len(args) != 1 || strings.Contains(args[0], "/") || strings.HasPrefix(args[0], ".") || filepath.Ext(args[0]) == ".toml" {
		return ""
	}
	return args[0]
}

func (k *checkCmd) checkWrapped(c terminal.Console, home, name string, unknown *config.UnknownServerError) error {
	w, err := entries.FindWrapped(name, unknown)
	if err != nil {
		return err
	}
	if k.probe && w.File.IsProject() {
		return exit.UsageErrorf("%s is in a file of this project (%s), which others may have written: --probe would start it, so give only check %s, or move the entry into a file of your own", name, w.Place(), name)
	}
	reports, err := k.checkServers(c, []string{name}, func(string) (*session.Target, error) { return w.Load(k.Waive) })
	if err != nil {
		return err
	}
	for i := range reports {
		as := "as " + w.File.Client.Title + " starts it: " + w.Place()
		reports[i].Remarks = append([]string{as}, reports[i].Remarks...)
	}
	return k.finish(c, home, []string{w.File.Path}, reports)
}
