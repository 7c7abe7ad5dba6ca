package lockfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// Version 2 of the format has the source of an entry. Files of version 1 are read too.
const formatVersion = 2

const header = `# The packages that mcp-jail installed, and what their tools said of themselves.
# mcp-jail writes this file, and keeps no comments; note = "…" in a section is kept.
version = 2
`

// Encode returns the file's text. Equal files have equal texts.
func (f *File) Encode() ([]byte, error) {
	w := &writer{}
	w.text(header)
	for _, e := range f.Entries() {
		w.entry(e)
	}
	if w.Len() > maxSize {
		return nil, fmt.Errorf("the lock file would have %d bytes, and may have %d; remove packages that are not used: mcp-jail status --remove --unused 30d", w.Len(), maxSize)
	}
	return []byte(w.String()), nil
}

// Entries returns the entries, sorted by ecosystem and spec. They are not copies.
func (f *File) Entries() []*Entry {
	return slices.SortedFunc(maps.Values(f.entries), func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Ecosystem, b.Ecosystem), strings.Compare(a.Spec, b.Spec))
	})
}

type writer struct{ strings.Builder }

func (w *writer) text(s string) { w.WriteString(s) }

// pair writes a line, unless the value is empty.
func (w *writer) pair(name, value string) {
	if value != "" {
		w.text(name + " = " + quote(value) + "\n")
	}
}

func (w *writer) entry(e *Entry) {
	section := heading(e.Key)
	w.text("\n" + section + "]\n")
	w.pair("note", e.Note)
	w.pair("name", e.Name)
	w.pair("version", e.Version)
	w.pair("integrity", e.Integrity)
	w.pair("source", string(e.Source))
	w.pair("program", e.Program)
	w.pair("file", e.File)
	w.pair("engines", e.Engines)
	w.pair("pinned", e.Pinned.UTC().Format(time.RFC3339))
	w.pair("tree", e.Tree)
	w.pair("files", e.Files)
	w.pair("lock", string(e.Lock))
	if len(e.Packages) > 0 {
		w.text("\n" + section + ".packages]\n")
	}
	for _, p := range e.Packages {
		w.text(quote(p.Path) + " = { version = " + quote(p.Version))
		for _, m := range [...]struct{ name, value string }{
			{"name", p.Name}, {"integrity", p.Integrity}, {"resolved", p.Resolved}, {"install_scripts", string(p.Scripts)},
		} {
			if m.value != "" {
				w.text(", " + m.name + " = " + quote(m.value))
			}
		}
		w.text(" }\n")
	}
	for _, name := range slices.Sorted(maps.Keys(e.Pins)) {
		w.pin(section+".pins."+show.Key(name), e.Pins[name])
	}
}

func (w *writer) pin(section string, p *toolpin.Pin) {
	w.text("\n" + section + "]\n")
	w.pair("server", p.Server.Name)
	w.pair("version", p.Server.Version)
	w.pair("instructions", p.Server.Instructions)
	w.pair("instructions_hash", p.Server.Hash)
	for _, t := range p.Tools {
		w.text("\n" + section + ".tools." + show.Key(t.Name) + "]\n")
		w.pair("hash", t.Hash)
		if t.Times > 1 {
			w.text("times = " + strconv.Itoa(t.Times) + "\n")
		}
		w.json("title", t.Title)
		w.json("description", t.Description)
		w.pair("input_schema", t.InputSchema)
		w.pair("output_schema", t.OutputSchema)
		w.pair("annotations", t.Annotations)
	}
}

// json writes canonical JSON that is nearly always a string: as its text, or else under a
// name of its own.
func (w *writer) json(name, canonical string) {
	if text, ok := toolpin.Unquote(canonical); ok && toolpin.Quote(text) == canonical {
		w.text(name + " = " + quote(text) + "\n") // also if it is empty
	} else {
		w.pair(name+"_json", canonical)
	}
}

// heading returns the beginning of all headings of an entry. "]" or "." follows it.
func heading(k Key) string { return "[" + string(k.Ecosystem) + "." + show.TOML(k.Spec) }

// quote returns a TOML string: a literal one where that saves escapes, as for JSON.
func quote(s string) string {
	if strings.ContainsAny(s, `"\`) && !strings.Contains(s, "'") && !strings.ContainsFunc(s, show.IsHidden) {
		return "'" + s + "'"
	}
	return show.TOML(s)
}
