package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// clientLists returns how the clients write the arguments of a server, and the arguments that
// their files have now. It looks for entries that start the server with the command of its last
// session. If there is none, it takes entries of its name with another command: the user has
// changed that. The client of the last session comes first. Without any entry, the list is that
// of this client, if it is known.
func clientLists(host hostfs.Host, server string) (lists []diagnostics.ClientList) {
	about := records.ReadAbout(host, server)
	last, known := clients.ByGreeting(about.Client.Name)
	_, files, err := (&entries.Choice{}).Find()
	if err != nil {
		files = nil // the record is told without them
	}
	slices.SortStableFunc(files, func(a, b *wrapping.File) int {
		return cmp.Compare(cli.FalseFirst(a.Client.Name != last.Name), cli.FalseFirst(b.Client.Name != last.Name))
	})
	for _, isSame := range []bool{true, false} {
		if lists != nil {
			break // entries of that name with other commands are other servers
		}
		for _, f := range files {
			if f.IsProject() {
				continue // others may have written its entries, and would get the user's grants
			}
			for _, e := range f.Entries {
				w, jailed := clients.ParseWrapped(e.Argv())
				if !jailed || slices.Equal(w.Argv, about.Command) != isSame || w.Name != server && (w.Name != "" || !isSame) {
					continue
				}
				client, place := e.Reader()
				where := fmt.Sprintf("%s (%s, line %d)", client.Title, show.Name(cli.ShortPath(f.Path, host.Home)), e.Line)
				l := clientList(place.Format, e.Shape, where)
				l.Home, l.Reload = host.Home, client.Reload
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

func clientList(format clients.Format, shape clients.Shape, where string) diagnostics.ClientList {
	if format == clients.JSONC {
		format = clients.JSON
	}
	return diagnostics.ClientList{Format: string(format), Key: cmp.Or(shape.Args, shape.Command), Whole: shape.Args == "", Where: []string{where}}
}

// addList adds a list. If lists has an equal one, it adds the places of the new one to that.
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
