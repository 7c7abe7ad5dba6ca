package lockfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// A Change is one thing in which two entries of a key differ.
type Change struct {
	Kind ChangeKind
	Text string // one line, safe on a terminal
	// Tools is set for Tool.
	Tools toolpin.Difference
}

// ChangeKind says what a change is about.
type ChangeKind string

const (
	Version   ChangeKind = "version"   // of the package itself
	Program   ChangeKind = "program"   // which program runs, and on what
	Added     ChangeKind = "added"     // a package of the tree
	Removed   ChangeKind = "removed"   // a package of the tree
	Changed   ChangeKind = "changed"   // a package of the tree
	Script    ChangeKind = "script"    // install scripts
	Integrity ChangeKind = "integrity" // the same version with another content
	Tool      ChangeKind = "tool"      // tool definitions
)

// Diff returns the changes of an update, in this order: the package, its program, its tree, its
// tools. Dates and notes do not count.
func Diff(old, e *Entry) []Change {
	d := &differ{root: e.root()}
	if old.root() != d.root {
		d.root = ""
	}
	name := show.Named(e.Name, 120)
	switch {
	case old.Name != e.Name:
		d.add(Version, "%s %s → %s %s", shown(old.Name), shown(old.Version), name, shown(e.Version))
	case old.Version != e.Version:
		d.add(Version, "%s %s → %s", name, shown(old.Version), shown(e.Version))
	case old.Integrity != e.Integrity:
		d.add(Integrity, "%s %s has another content, with the same version: %s → %s", name, shown(e.Version), shown(old.Integrity), shown(e.Integrity))
	}
	for _, f := range []struct{ what, old, now string }{
		{"its program", old.Program, e.Program}, {"the program's file", old.File, e.File}, {"the versions that it runs on", old.Engines, e.Engines},
	} {
		if f.old != f.now {
			d.add(Program, "%s: %s → %s", f.what, shown(f.old), shown(f.now))
		}
	}
	d.packages(old.Packages, e.Packages)
	d.trees(old, e)
	d.pins(old.Pins, e.Pins)
	return d.changes
}

type differ struct {
	changes []Change
	root    string // the place of the package itself, of which Diff has told already
}

// root returns the place of the package itself, or "" if no package with its version is there.
func (e *Entry) root() string {
	place := e.Name
	if e.Ecosystem == NPM {
		place = "node_modules/" + e.Name
	}
	for _, p := range e.Packages {
		if p.Path == place && p.Version == e.Version {
			return place
		}
	}
	return ""
}

func (d *differ) add(kind ChangeKind, format string, args ...any) {
	d.changes = append(d.changes, Change{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

func (d *differ) trees(old, e *Entry) {
	if len(d.changes) > 0 {
		return
	}
	switch {
	case old.Tree != e.Tree:
		d.add(Integrity, "the tree of %s %s has another digest: %s → %s", shown(e.Name), shown(e.Version), shown(old.Tree), shown(e.Tree))
	case old.Files != e.Files:
		d.add(Integrity, "the files of %s %s have another digest: %s → %s", shown(e.Name), shown(e.Version), shown(old.Files), shown(e.Files))
	}
}

func (d *differ) packages(old, now []Package) {
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case j == len(now) || i < len(old) && old[i].Path < now[j].Path:
			d.add(Removed, "removed: %s %s", old[i].describe(), shown(old[i].Version))
			i++
		case i == len(old) || old[i].Path > now[j].Path:
			d.add(Added, "added: %s %s%s", now[j].describe(), shown(now[j].Version), now[j].Scripts.words(", with "))
			j++
		default:
			d.change(old[i], now[j])
			i++
			j++
		}
	}
}

func (d *differ) change(old, p Package) {
	name := p.describe()
	switch {
	case p.Path == d.root:
	case old.Name != p.Name:
		d.add(Changed, "changed: %s %s → %s %s", old.describe(), shown(old.Version), name, shown(p.Version))
	case old.Version != p.Version:
		d.add(Changed, "changed: %s %s → %s", name, shown(old.Version), shown(p.Version))
	case old.Integrity != p.Integrity:
		d.add(Integrity, "%s %s has another content, with the same version: %s → %s", name, shown(p.Version), shown(old.Integrity), shown(p.Integrity))
	case old.Resolved != p.Resolved:
		d.add(Integrity, "%s %s comes from another place: %s → %s", name, shown(p.Version), shown(old.Resolved), shown(p.Resolved))
	}
	if old.Scripts != p.Scripts {
		d.add(Script, "%s %s: %s → %s", name, shown(p.Version), old.Scripts.words(""), p.Scripts.words(""))
	}
}

// words describes the scripts. With a prefix, it says nothing of a package without any.
func (s Scripts) words(prefix string) string {
	switch s {
	case ScriptsRun:
		return prefix + "install scripts, which were run"
	case ScriptsSkipped:
		return prefix + "install scripts, which were not run"
	}
	if prefix != "" {
		return ""
	}
	return "no install scripts"
}

func (p Package) describe() string {
	const folder = "node_modules/"
	place := strings.TrimPrefix(p.Path, folder)
	outer, name, nested := place, place, false
	if i := strings.LastIndex(place, "/"+folder); i >= 0 {
		outer, name, nested = place[:i], place[i+len("/"+folder):], true
	}
	if p.Name != "" {
		name = p.Name + " (as " + name + ")"
	}
	if nested {
		name += " (in " + strings.ReplaceAll(outer, "/"+folder, " > ") + ")"
	}
	return show.Named(name, 200)
}

func (d *differ) pins(old, now map[string]*toolpin.Pin) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(now))
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		if old[name] == nil || now[name] == nil {
			continue // pinned for the first time, or not asked for this time
		}
		for _, tools := range toolpin.Compare(old[name], now[name]) {
			text := tools.String()
			if len(names) > 1 {
				text = shown(name) + ": " + text
			}
			d.changes = append(d.changes, Change{Tool, text, tools})
		}
	}
}

func shown(s string) string {
	if s == "" {
		return "(none)"
	}
	return show.Named(s, 120)
}
