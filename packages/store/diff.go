package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Diff returns in what two entries of a key differ, a line each, safe on a terminal: the packages of the tree by their
// places, the entry's own first, with hashes if the versions are the same; install scripts; the program. Dates, notes
// and tools do not count.
func Diff(old, e *Entry) (lines []string) {
	add := func(what, was, is string) {
		if was != is {
			lines = append(lines, shown(what)+": "+shown(was)+" → "+shown(is))
		}
	}
	before, err := old.places(e.Name)
	after, err2 := e.places(e.Name)
	if err := cmp.Or(err, err2); err != nil {
		lines = []string{"the packages cannot be compared: " + err.Error()}
		for _, all := range []map[string]part{before, after} {
			maps.DeleteFunc(all, func(place string, _ part) bool { return place != e.Name })
		}
	}
	for _, place := range placesOf(e.Name, before, after) {
		was, is := before[place], after[place]
		add(place, was.at(place), is.at(place))
		if was.at(place) == is.at(place) {
			add("content of "+place+" "+is.Version, was.Integrity, is.Integrity)
		}
		if is != (part{}) {
			add("install scripts of "+place+" "+is.Version, yes(was.Scripts), yes(is.Scripts))
		}
	}
	if lines == nil { // otherwise other packages have other files
		add("tree of "+e.Name+" "+e.Version, old.Tree, e.Tree)
	}
	if lines == nil && old.ScriptsRan == e.ScriptsRan {
		add("files of "+e.Name+" "+e.Version, old.Files, e.Files)
	}
	add("install scripts ran", yes(old.ScriptsRan), yes(e.ScriptsRan))
	add("program", old.Program, e.Program)
	add("file of the program", old.File, e.File)
	add("versions of the interpreter", old.Engines, e.Engines)
	return lines
}

const folder = "node_modules/"

// places returns the packages of an entry by their places. The entry's own one is at the place root.
func (e *Entry) places(root string) (map[string]part, error) {
	list, err := e.List()
	all := map[string]part{}
	for _, p := range list {
		all[strings.TrimPrefix(p.Path, folder)] = p
	}
	own := part{Name: e.Name, Version: e.Version, Integrity: e.Integrity, Scripts: all[e.Name].Scripts}
	delete(all, e.Name)
	all[root] = own
	return all, err
}

// placesOf returns the places of both, root first.
func placesOf(root string, a, b map[string]part) []string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	delete(both, root)
	return append([]string{root}, slices.Sorted(maps.Keys(both))...)
}

// at returns the version of a part, with its name if that differs from the name of its place.
func (p part) at(place string) string {
	if p == (part{}) {
		return ""
	}
	if p.Name == place || strings.HasSuffix(place, "/"+folder+p.Name) {
		return p.Version
	}
	return p.Name + "@" + p.Version
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func shown(s string) string {
	if s == "" {
		return "(none)"
	}
	return show.Named(s, 200)
}
