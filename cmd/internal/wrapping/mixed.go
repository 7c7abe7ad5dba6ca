package wrapping

import (
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mcp-jail/mcp-jail/clients"
)

// A part is one of several entries of a name, out of which a client makes one.
type part struct {
	file  *File
	entry Entry
	value any
}

// leaveMixed leaves the entries that a client mixes with another of the same name: what it starts is
// in neither of them. files are those that were selected.
func leaveMixed(files []*File, host clients.Host) {
	for _, c := range clients.All() {
		if !c.Mixed || !slices.ContainsFunc(files, func(f *File) bool { return f.isReadBy(c) }) {
			continue
		}
		byName := map[string][]part{}
		for _, f := range allOf(c, files, host) {
			for _, p := range f.parts(c) {
				byName[p.entry.Server] = append(byName[p.entry.Server], p)
			}
		}
		// An entry is left if another part of that name changes what it starts.
		for _, parts := range byName {
			for _, p := range parts {
				if !c.Changes(nil, p.value) {
					continue // it starts nothing by itself
				}
				if other := slices.IndexFunc(parts, func(o part) bool { return !o.isSame(p) && c.Changes(p.value, o.value) }); other >= 0 {
					p.leave(c, parts[other])
				}
			}
		}
	}
}

func allOf(c clients.Client, files []*File, host clients.Host) (all []*File) {
	known := map[string]bool{}
	for _, f := range files {
		if f.isReadBy(c) && f.Err == nil {
			known[f.Real()] = true
			all = append(all, f)
		}
	}
	for _, p := range c.Places {
		for _, path := range existing(p, host) {
			real, err := filepath.EvalSymlinks(path)
			if err != nil || known[real] {
				continue
			}
			known[real] = true
			all = append(all, read(host, reading{client: c, place: p}, path))
		}
	}
	return all
}

func (f *File) parts(c clients.Client) (all []part) {
	for _, r := range f.readings {
		if r.client.Name != c.Name || f.Err != nil {
			continue
		}
		found, _ := f.entries(r) // an error is the file's already
		for _, e := range found {
			value, _, _ := f.parsed.Lookup(e.Path...)
			all = append(all, part{f, e, value})
		}
	}
	return all
}

func (p part) isSame(o part) bool {
	return p.file.Real() == o.file.Real() && p.entry.Key() == o.entry.Key()
}

func (p part) leave(c clients.Client, other part) {
	at, there := p.file.at[p.entry.Key()]
	if !there {
		return
	}
	p.file.Entries[at].mixed = clients.Reason("is mixed by " + c.Title + " with the entry of that name in " + other.file.Path +
		", line " + strconv.Itoa(other.entry.Line) + ", and what it starts is in neither of the two: give one of them another name")
}
