package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// clientLists says how the clients write the arguments of a server, and what these are now: those
// with an entry that starts it, that of the last session first, or else the client of the last
// session. An entry of its name counts with another command if none has the command of the last
// session: the user has changed it.
func clientLists(host hostfs.Host, server string) (lists []diagnostics.ClientList) {
	about := records.ReadAbout(host, server)
	last, known := clients.ByGreeting(about.Client.Name)
	_, files, err := (&changeCmd{}).find()
	if err != nil {
		files = nil // the record is told without them
	}
	slices.SortStableFunc(files, func(a, b *wrapping.File) int {
		return cmp.Compare(rank(a.Client.Name != last.Name), rank(b.Client.Name != last.Name))
	})
	for _, isSame := range []bool{true, false} {
		if lists != nil {
			break // entries of that name with other commands are other servers
		}
		for _, f := range files {
			if f.Place.Scope == clients.Project {
				continue // others may have written its entries, and would get the user's grants
			}
			for _, e := range f.Entries {
				w, jailed := clients.ParseWrapped(e.Argv())
				if !jailed || slices.Equal(w.Argv, about.Command) != isSame || w.Name != server && (w.Name != "" || !isSame) {
					continue
				}
				where := fmt.Sprintf("%s (%s, line %d)", f.Client.Title, wrapping.Quoted(shortPath(f.Path, host.Home)), e.Line)
				l := clientList(f.Place.Format, e.Shape, where)
				l.Home, l.Reload = host.Home, f.Client.Reload
				if about.Configuration != nil && e.For == "" {
					l.Workspace = about.Configuration.Workspace
				}
				if w.Argv != nil {
					l.Line, l.Secret = e.Argv(), e.ShowsSecret()
				}
				lists = addList(lists, l)
			}
		}
	}
	if lists == nil && known {
		lists = addList(nil, clientList(last.Places[0].Format, last.Shapes[0], last.Title))
	}
	return lists
}

// rank sorts false before true.
func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// clientList returns the form of a file with an entry of a shape.
func clientList(format clients.Format, shape clients.Shape, where string) diagnostics.ClientList {
	if format == clients.JSONC {
		format = clients.JSON
	}
	return diagnostics.ClientList{Format: string(format), Key: cmp.Or(shape.Args, shape.Command), Whole: shape.Args == "", Where: []string{where}}
}

// addList adds a form, or what has it to one that is there.
func addList(lists []diagnostics.ClientList, l diagnostics.ClientList) []diagnostics.ClientList {
	for i, other := range lists {
		if other.Format == l.Format && other.Key == l.Key && other.Whole == l.Whole && other.Secret == l.Secret && slices.Equal(other.Line, l.Line) {
			lists[i].Where = append(other.Where, l.Where...)
			if !strings.Contains(other.Reload, l.Reload) {
				lists[i].Reload += " " + l.Reload
			}
			return lists
		}
	}
	return append(lists, l)
}
