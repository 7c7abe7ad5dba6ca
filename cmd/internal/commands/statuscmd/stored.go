package statuscmd

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
)

// A storedPart is what mcp-jail has stored of a server.
type storedPart struct {
	Key          string        `json:"key"` // the name of its folder
	Package      string        `json:"package,omitempty"`
	Bytes        int64         `json:"bytes"`
	HomeBytes    int64         `json:"home_bytes"`
	PackageBytes int64         `json:"package_bytes"`
	RecordBytes  int64         `json:"record_bytes"`
	Homes        []stored.Home `json:"homes,omitempty"`
}

func partOf(s *stored.Server) *storedPart {
	if s == nil {
		return nil
	}
	part := &storedPart{Key: s.Name, Bytes: s.Bytes(), HomeBytes: s.HomeBytes(), PackageBytes: s.PackageBytes(), RecordBytes: s.Records, Homes: s.Homes}
	if len(s.Pins) > 0 {
		part.Package = s.Pins[0].Name + "@" + s.Pins[0].Version
	}
	return part
}

func (r *row) size() string {
	if r.Stored == nil {
		return "-"
	}
	return cli.SizeText(r.Stored.Bytes)
}

// storedRest is what is stored beside that of the servers.
type storedRest struct {
	Unused    []storedPlace `json:"unused_packages"`
	Leftovers []storedPlace `json:"leftovers"` // of interrupted work
	Bytes     int64         `json:"bytes"`     // of everything, each file once
}

type storedPlace struct {
	Package string `json:"package,omitempty"`
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
}

func leftOf(all *stored.All) *storedRest {
	rest := &storedRest{Unused: []storedPlace{}, Leftovers: []storedPlace{}}
	for _, t := range all.Unpinned {
		rest.Unused = append(rest.Unused, storedPlace{t.ID.String(), t.Path(), t.Bytes})
	}
	for _, l := range all.Leftovers {
		if rest.Bytes += l.Bytes; !l.Busy && l.Bytes > 0 {
			rest.Leftovers = append(rest.Leftovers, storedPlace{Path: l.Path, Bytes: l.Bytes})
		}
	}
	for _, s := range all.Servers {
		rest.Bytes += s.HomeBytes() + s.Records
	}
	for _, t := range all.Trees() {
		rest.Bytes += t.Bytes
	}
	return rest
}

// problem says how much is stored, what of it nothing uses, and how to remove what is old.
func (s *storedRest) problem() *problem {
	what := cli.SizeText(s.Bytes) + " are stored."
	if len(s.Unused) > 0 {
		what += " No server uses " + cli.Plural(len(s.Unused), "package") + " of that (" + cli.SizeText(sum(s.Unused)) + ")."
	}
	if len(s.Leftovers) > 0 {
		what += " Interrupted work left " + cli.SizeText(sum(s.Leftovers)) + "."
	}
	return &problem{what + " To remove what you have not used for 30 days:", []string{"mcp-jail status --remove --unused 30d"}}
}

func sum(places []storedPlace) (bytes int64) {
	for _, p := range places {
		bytes += p.Bytes
	}
	return bytes
}
