package commands

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
)

// wrappedServer is a server that a client starts in mcp-jail.
type wrappedServer struct {
	file  *wrapping.File
	entry wrapping.Entry
	line  clients.Wrapped
}

// findWrapped returns the server that clients start in mcp-jail under a name, theirs or that of
// mcp-jail list; nil if there is none. If several lines have that name, it returns an error with
// all of them.
func findWrapped(name string) (*wrappedServer, error) {
	host, files, err := (&changeCmd{}).find()
	if err != nil {
		return nil, err
	}
	program, err := findProgram(host)
	if err != nil {
		return nil, err
	}
	var found []wrappedServer
	for _, f := range files {
		for _, e := range f.Entries {
			w, wrapped := clients.ParseWrapped(e.Argv())
			if !wrapped || w.Argv == nil || e.Foreign(program.Program, host.Dir) || e.Server != name && w.Name != name {
				continue
			}
			same := func(o wrappedServer) bool {
				return slices.Equal(o.line.Flags, w.Flags) && slices.Equal(o.line.Argv, w.Argv)
			}
			if !slices.ContainsFunc(found, same) {
				found = append(found, wrappedServer{f, e, w})
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return &found[0], nil
	}
	var lines []string
	for _, w := range found {
		words := append([]string{"mcp-jail", "plan"}, w.line.Flags...)
		words = append(append(words, "--"), w.line.Argv...)
		lines = append(lines, "  "+w.file.Client.Title+" ("+w.place(host.Home)+")\n    "+cmdline.ShellWords(wrapping.Shown(words)))
	}
	return nil, target.UsageErrorf("clients start %d servers as %s in mcp-jail; give the line of one:\n%s", len(found), name, strings.Join(lines, "\n"))
}

// place returns the file of the entry, with its line.
func (w *wrappedServer) place(home string) string {
	return fmt.Sprintf("%s, line %d", terminal.Printable(shortPath(w.file.Path, home)), w.entry.Line)
}

// resolve resolves the policy that the server gets from its client, with the variables that its
// entry sets.
func (w *wrappedServer) resolve(tool string) (*target.Target, error) {
	flags, err := cmdline.ParseRun(append([]string{"run"}, w.line.Flags...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.place(""), err)
	}
	for _, v := range w.file.ServerEnv(w.entry) {
		err = errors.Join(err, os.Setenv(v.Name, v.Value))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.place(""), err)
	}
	return target.Resolve(flags.ConfigFlags, flags.PolicyFlags, "", tool, cmdline.Server{Given: true, Argv: w.line.Argv})
}
