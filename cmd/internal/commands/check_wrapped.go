package commands

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// serverOf returns the server that the arguments name, or "" if they are files. One word that is
// no path, and no file that exists, is the name of a server.
func (k *checkCmd) serverOf(args []string) string {
	if len(args) != 1 || strings.Contains(args[0], "/") || filepath.Ext(args[0]) == ".toml" {
		return ""
	}
	if _, err := os.Lstat(args[0]); err == nil {
		return ""
	}
	return args[0]
}

// checkWrapped checks a server as its client starts it in mcp-jail.
func (k *checkCmd) checkWrapped(c terminal.Console, home, name string, unknown *config.UnknownServerError) error {
	w, err := findWrapped(name, unknown)
	if err != nil {
		return err
	}
	reports, err := k.checkServers(c, []string{name}, func(string) (*target.Target, error) { return w.load(k.Waive) })
	if err != nil {
		return err
	}
	for i := range reports {
		as := "as " + w.file.Client.Title + " starts it: " + w.place(home)
		reports[i].Remarks = append([]string{as}, reports[i].Remarks...)
	}
	return k.finish(c, home, []string{w.file.Path}, reports)
}
