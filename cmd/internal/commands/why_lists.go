package commands

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// clientLists says how the clients write the arguments of a server: those with an entry that
// starts it, that of the last session first, or else the client of the last session.
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
	for _, f := range files {
		if f.Place.Scope == clients.Project {
			continue // others may have written its entries, and would get the user's grants
		}
		for _, e := range f.Entries {
			w, jailed := clients.ParseWrapped(e.Argv())
			isSame := slices.Equal(w.Argv, about.Command)
			if !jailed || w.Name == "" && !isSame || w.Name != "" && (w.Name != server || !isSame && len(about.Command) > 0) {
				continue
			}
			where := fmt.Sprintf("%s (%s, line %d)", f.Client.Title, shortPath(f.Path, host.Home), e.Line)
			lists = addList(lists, clientList(f.Place.Format, e.Shape, where))
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
	return diagnostics.ClientList{Format: string(format), Key: cmp.Or(shape.Args, shape.Command), Whole: shape.Args == "", Where: where}
}

// addList adds a form, or what has it to one that is there.
func addList(lists []diagnostics.ClientList, l diagnostics.ClientList) []diagnostics.ClientList {
	for i, other := range lists {
		if other.Format == l.Format && other.Key == l.Key && other.Whole == l.Whole {
			lists[i].Where += " and " + l.Where
			return lists
		}
	}
	return append(lists, l)
}
