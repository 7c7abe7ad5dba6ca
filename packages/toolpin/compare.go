package toolpin

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// Kind says how two pins differ.
type Kind string

const (
	Added        Kind = "added"        // a tool that the old pin does not have
	Removed      Kind = "removed"      // a tool that only the old pin has
	Changed      Kind = "changed"      // the hashes of a tool differ
	Annotations  Kind = "annotations"  // only the annotations of a tool differ
	Instructions Kind = "instructions" // of the server
	Identity     Kind = "identity"     // the server's name or version
)

// A Difference is a change of one tool, or of the server, since the old pin.
type Difference struct {
	Tool string // "" for Instructions and Identity
	Kind Kind
	// Fields are the places where the definitions differ, at most 20. For Added it has only the
	// description. It is empty if one of the two texts is not kept, or was edited.
	Fields []Field
	// Times is how often a changed or added tool is listed, if more than once.
	Times int
}

// A Field is one place in a definition. Old and New are canonical JSON, "" where the member
// is absent; for Instructions and Identity they are plain text.
type Field struct {
	Path     string // "description", "inputSchema.properties.path.type", "inputSchema.required"
	Old, New string
}

const maxFields = 20

// Mild reports whether a model reads the same definitions as before, or fewer of them: the
// annotations, the server's name or version changed, or a tool is gone.
func (d Difference) Mild() bool {
	return d.Kind == Annotations || d.Kind == Identity || d.Kind == Removed
}

// Compare returns how p differs from the old pin: the server first, then the tools by name.
// The order of tools and of members does not matter.
func Compare(old, p *Pin) []Difference {
	out := compareServers(old.Server, p.Server)
	i, j := 0, 0
	for i < len(old.Tools) || j < len(p.Tools) {
		order := 0
		switch {
		case i == len(old.Tools):
			order = 1
		case j == len(p.Tools):
			order = -1
		default:
			order = cmp.Compare(old.Tools[i].Name, p.Tools[j].Name)
		}
		switch {
		// Both lists are sorted by name: this name is in the old one only.
		case order < 0:
			out = append(out, Difference{Tool: old.Tools[i].Name, Kind: Removed})
			i++
		case order > 0:
			d := Difference{Tool: p.Tools[j].Name, Kind: Added, Times: p.Tools[j].Times}
			if text := p.Tools[j].Description; text != "" {
				d.Fields = []Field{{Path: "description", New: string(text)}}
			}
			out = append(out, d)
			j++
		default:
			if d, ok := compareTools(&old.Tools[i], &p.Tools[j]); ok {
				out = append(out, d)
			}
			i++
			j++
		}
	}
	return out
}

func compareServers(old, s Server) (out []Difference) {
	var fields []Field
	if old.Name != s.Name {
		fields = append(fields, Field{"name", old.Name, s.Name})
	}
	if old.Version != s.Version {
		fields = append(fields, Field{"version", old.Version, s.Version})
	}
	if fields != nil {
		out = append(out, Difference{Kind: Identity, Fields: fields})
	}
	if old.Hash != s.Hash {
		d := Difference{Kind: Instructions}
		if old.hasText() && s.hasText() {
			d.Fields = []Field{{"instructions", old.Instructions, s.Instructions}}
		}
		out = append(out, d)
	}
	return out
}

// hasText reports whether the instructions are kept, and are those that were hashed. It is true
// also for a server without instructions.
func (s Server) hasText() bool {
	return s.Hash == "" && s.Instructions == "" || hash(s.Instructions) == s.Hash
}

func compareTools(old, t *Tool) (d Difference, differ bool) {
	if old.Hash == t.Hash && old.Times == t.Times {
		if old.Annotations == t.Annotations {
			return d, false
		}
		d = Difference{Tool: t.Name, Kind: Annotations}
		if old.Times <= 1 {
			d.Fields = fieldsOf(nil, "annotations", old.Annotations, t.Annotations)
		}
		return d, true
	}
	d = Difference{Tool: t.Name, Kind: Changed, Times: t.Times}
	if !old.HasText() || !t.HasText() {
		return d, true
	}
	a, b := old.Definition, t.Definition
	for _, f := range []struct {
		path       string
		old, value JSON
	}{
		{"title", a.Title, b.Title}, {"description", a.Description, b.Description},
		{"inputSchema", a.InputSchema, b.InputSchema}, {"outputSchema", a.OutputSchema, b.OutputSchema},
		{"annotations", old.Annotations, t.Annotations},
	} {
		d.Fields = fieldsOf(d.Fields, f.path, f.old, f.value)
	}
	return d, true
}

// fieldsOf appends the places where two canonical JSON values differ. It goes down into objects,
// and into arrays of equal length.
func fieldsOf(out []Field, path string, old, value JSON) []Field {
	if old == value || len(out) >= maxFields {
		return out
	}
	if a, b := object(old), object(value); a != nil && b != nil {
		names := slices.Sorted(maps.Keys(a))
		for name := range b {
			if _, ok := a[name]; !ok {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			out = fieldsOf(out, path+"."+name, a[name], b[name])
		}
		return out
	}
	if a, b := array(old), array(value); len(a) > 0 && len(a) == len(b) {
		for i := range a {
			out = fieldsOf(out, path+"["+strconv.Itoa(i)+"]", a[i], b[i])
		}
		return out
	}
	return append(out, Field{path, string(old), string(value)})
}

// object returns the members of an object, or nil for other JSON.
func object(j JSON) (members map[string]JSON) {
	if strings.HasPrefix(string(j), "{") && json.Unmarshal([]byte(j), &members) == nil {
		return members
	}
	return nil
}

// array returns the elements of an array, or nil for other JSON.
func array(j JSON) (elements []JSON) {
	if strings.HasPrefix(string(j), "[") && json.Unmarshal([]byte(j), &elements) == nil {
		return elements
	}
	return nil
}
