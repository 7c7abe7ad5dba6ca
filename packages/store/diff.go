package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// A Change is one thing in which two entries of a key differ.
type Change struct {
	Kind changeKind
	Text string // one line, safe on a terminal
	// Tools is set for Tool.
	Tools toolpin.Difference
}

// changeKind says what a change is about.
type changeKind string

const (
	Version   changeKind = "version"   // of the package itself
	program   changeKind = "program"   // which program runs, and on what
	added     changeKind = "added"     // a package of the tree
	removed   changeKind = "removed"   // a package of the tree
	changed   changeKind = "changed"   // a package of the tree
	script    changeKind = "script"    // install scripts
	Integrity changeKind = "integrity" // the same version with another content
	tool      changeKind = "tool"      // tool definitions
)

// Diff returns the changes of an update, in this order: the package, its program, its tree, its
// tools. Dates and notes do not count.
func Diff(old, e *Entry) []Change {
	d := &differ{}
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
			d.add(program, "%s: %s → %s", f.what, shown(f.old), shown(f.now))
		}
	}
	if old.ScriptsRan != e.ScriptsRan {
		d.add(script, "its install scripts: %s → %s", ran(old.ScriptsRan), ran(e.ScriptsRan))
	}
	d.lists(old, e)
	d.trees(old, e)
	d.pins(old.Pins, e.Pins)
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) add(kind changeKind, format string, args ...any) {
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

func (d *differ) lists(before, after *Entry) {
	old, err := before.List()
	now, err2 := after.List()
	if err := cmp.Or(err, err2); err != nil {
		d.add(Integrity, "the packages cannot be compared: %v", err)
		return
	}
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case j == len(now) || i < len(old) && old[i].Path < now[j].Path:
			d.add(removed, "removed: %s %s", old[i].describe(), shown(old[i].Version))
			i++
		case i == len(old) || old[i].Path > now[j].Path:
			with := ""
			if now[j].Scripts {
				with = ", with install scripts"
			}
			d.add(added, "added: %s %s%s", now[j].describe(), shown(now[j].Version), with)
			j++
		default:
			isRoot := before.isRoot(old[i]) && after.isRoot(now[j])
			d.part(old[i], now[j], isRoot)
			i++
			j++
		}
	}
}

// isRoot reports whether a part is the package itself, of which Diff has told already.
func (e *Entry) isRoot(p part) bool {
	return p.Version == e.Version && (p.Path == e.Name || p.Path == folder+e.Name)
}

func (d *differ) part(old, p part, isRoot bool) {
	name := p.describe()
	switch {
	case isRoot:
	case old.Name != p.Name:
		d.add(changed, "changed: %s %s → %s %s", old.describe(), shown(old.Version), name, shown(p.Version))
	case old.Version != p.Version:
		d.add(changed, "changed: %s %s → %s", name, shown(old.Version), shown(p.Version))
	case old.Integrity != p.Integrity:
		d.add(Integrity, "%s %s has another content, with the same version: %s → %s", name, shown(p.Version), shown(old.Integrity), shown(p.Integrity))
	}
	switch {
	case p.Scripts && !old.Scripts:
		d.add(script, "%s %s: it has install scripts now", name, shown(p.Version))
	case old.Scripts && !p.Scripts:
		d.add(script, "%s %s: it has no install scripts any more", name, shown(p.Version))
	}
}

func ran(scripts bool) string {
	if scripts {
		return "they ran"
	}
	return "they did not run"
}

const folder = "node_modules/"

// describe returns the name of a part, with the alias and the package around it.
func (p part) describe() string {
	outer, name := "", strings.TrimPrefix(p.Path, folder)
	if i := strings.LastIndex(name, "/"+folder); i >= 0 {
		outer, name = name[:i], name[i+len("/"+folder):]
	}
	if p.Name != name {
		name = p.Name + " (as " + name + ")"
	}
	if outer != "" {
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
			d.changes = append(d.changes, Change{tool, text, tools})
		}
	}
}

func shown(s string) string {
	if s == "" {
		return "(none)"
	}
	return show.Named(s, 120)
}
