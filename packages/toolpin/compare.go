package toolpin

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	// Fields are the places where the definitions differ, at most 5. For Added it has only the
	// description. It is empty if one of the two texts is not kept.
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

const maxFields = 5 // one more than is shown

// Mild reports whether a model reads the same definitions as before, or fewer of them: the
// annotations, the server's name or version changed, or a tool is gone.
func (d Difference) Mild() bool {
	return d.Kind == Annotations || d.Kind == Identity || d.Kind == Removed
}

// Compare returns how p differs from the old pin: the server first, then the tools by name.
// The order of tools and of members does not matter.
func Compare(old, p *Pin) []Difference {
	out := compareServers(old.Server, p.Server)
	var names []string
	for _, t := range slices.Concat(old.Tools, p.Tools) {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		o, t := old.Find(name), p.Find(name)
		switch {
		case t == nil:
			out = append(out, Difference{Tool: name, Kind: Removed})
		case o == nil:
			d := Difference{Tool: name, Kind: Added, Times: t.Times}
			if text := t.Description(); text != "" {
				d.Fields = []Field{{Path: "description", New: string(text)}}
			}
			out = append(out, d)
		case !o.sameDefinition(t):
			d := Difference{Tool: name, Kind: Changed, Times: t.Times}
			if object(o.Definition) != nil && object(t.Definition) != nil {
				d.Fields = fieldsOf(fieldsOf(nil, "", o.Definition, t.Definition), "annotations", o.Annotations, t.Annotations)
			}
			out = append(out, d)
		case o.Annotations != t.Annotations:
			d := Difference{Tool: name, Kind: Annotations}
			if o.Times <= 1 {
				d.Fields = fieldsOf(nil, "annotations", o.Annotations, t.Annotations)
			}
			out = append(out, d)
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
	if old.Instructions != s.Instructions {
		out = append(out, Difference{Kind: Instructions, Fields: []Field{{"instructions", old.Instructions, s.Instructions}}})
	}
	return out
}

// fieldsOf appends the places where two canonical JSON values differ. It goes down into objects,
// and into arrays of equal length.
func fieldsOf(out []Field, path string, old, value JSON) []Field {
	if old == value || len(out) >= maxFields {
		return out
	}
	if a, b := object(old), object(value); a != nil && b != nil {
		both := maps.Clone(a)
		maps.Copy(both, b)
		for _, name := range slices.Sorted(maps.Keys(both)) {
			out = fieldsOf(out, strings.TrimPrefix(path+"."+name, "."), a[name], b[name])
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
func object(j JSON) map[string]JSON {
	var values map[string]jsontext.Value
	if !strings.HasPrefix(string(j), "{") || json.Unmarshal([]byte(j), &values) != nil {
		return nil
	}
	members := make(map[string]JSON, len(values))
	for name, v := range values {
		members[name] = JSON(v)
	}
	return members
}

// array returns the elements of an array, or nil for other JSON.
func array(j JSON) []JSON {
	var values []jsontext.Value
	if !strings.HasPrefix(string(j), "[") || json.Unmarshal([]byte(j), &values) != nil {
		return nil
	}
	elements := make([]JSON, len(values))
	for i, v := range values {
		elements[i] = JSON(v)
	}
	return elements
}
