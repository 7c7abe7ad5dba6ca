package doctorcmd

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// storedSizes is how much mcp-jail keeps of the user's servers.
type storedSizes struct {
	Packages  storedSize `json:"packages"`
	Homes     storedSize `json:"homes"`     // private HOMEs
	Leftovers storedSize `json:"leftovers"` // of interrupted installations and removals
	Error     string     `json:"error,omitempty"`
}

type storedSize struct {
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
	Dir   string `json:"dir,omitempty"`
}

func lookStored() (sizes storedSizes) {
	host, err := hostfs.LocalHost()
	if err != nil {
		return storedSizes{Error: err.Error()}
	}
	all, err := stored.Look(host)
	if err != nil {
		return storedSizes{Error: err.Error()}
	}
	sizes.Packages.Dir, sizes.Homes.Dir = session.PackageStore(host).Dir, stored.ServersDir(host)
	for _, t := range all.Trees() {
		sizes.Packages.add(t.Bytes)
	}
	for _, s := range all.Servers {
		for _, h := range s.Homes {
			sizes.Homes.add(h.Bytes)
		}
	}
	for _, l := range all.Leftovers {
		if l.Bytes > 0 {
			sizes.Leftovers.add(l.Bytes)
		}
	}
	return sizes
}

func (s *storedSize) add(bytes int64) {
	s.Count++
	s.Bytes += bytes
}

func (s storedSizes) print(c terminal.Console) {
	if s.Error != "" {
		c.Printf("\nwhat is kept of servers cannot be told: %s\n", show.Lines(s.Error))
		return
	}
	line := func(what string, size storedSize) {
		if size.Count == 0 {
			return
		}
		where := ""
		if size.Dir != "" {
			where = "  " + size.Dir
		}
		c.PrintText(show.Line(fmt.Sprintf("%-14s %4d  %8s%s", what, size.Count, cli.SizeText(size.Bytes), where)) + "\n")
	}
	if s.Packages.Count+s.Homes.Count+s.Leftovers.Count > 0 {
		c.Printf("\nkept of servers (`mcp-jail list`):\n")
	}
	line("packages", s.Packages)
	line("private HOMEs", s.Homes)
	line("leftovers", s.Leftovers)
}
