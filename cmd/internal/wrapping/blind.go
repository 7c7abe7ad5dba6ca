package wrapping

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/locate"
)

// Unread returns the files of a selection's clients that exist and are not read, and the servers of
// their plugins that are in no file. A selection of files has none.
func Unread(host clients.Host, sel Selection) (all []locate.Blind) {
	if len(sel.Files) > 0 {
		return nil
	}
	of := slices.DeleteFunc(clients.All(), func(c clients.Client) bool { return !sel.selects(c) })
	read := map[string]bool{}
	for _, c := range of {
		for _, p := range locate.Plugins(c, host) {
			for _, f := range p.Files {
				read[f.Path] = true
			}
			for _, n := range p.Named {
				all = append(all, locate.Blind{Client: c, Path: n.What, Why: "of " + p.Title() + ": " + n.Why, Starts: p.Off == ""})
			}
		}
	}
	return append(locate.Unread(host, of, read), all...)
}

// selects reports whether the selection means the files of a client.
func (s Selection) selects(c clients.Client) bool {
	return len(s.Clients) == 0 || slices.ContainsFunc(s.Clients, func(name string) bool {
		chosen, err := clients.ByName(name)
		return err == nil && chosen.Name == c.Name
	})
}
