package toolpin

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// kind says how two pins differ.
type kind string

const (
	added        kind = "added"        // a tool that the old pin does not have
	removed      kind = "removed"      // a tool that only the old pin has
	changed      kind = "changed"      // the hashes of a tool differ
	annotations  kind = "annotations"  // only the annotations of a tool differ
	instructions kind = "instructions" // of the server
	Identity     kind = "identity"     // the server's name or version
)

// A Difference is a change of one tool, or of the server, since the old pin.
type Difference struct {
	Tool string // "" for Instructions and Identity
	Kind kind
	// Fields are the places where the definitions differ, at most 5. For Added it has only the
	// description. It is empty if one of the two texts is not kept.
	Fields []field
	// Times is how often a changed or added tool is listed, if more than once.
	Times int
}

// A Field is one place in a definition. Old and New are canonical JSON, "" where the member
// is absent; for Instructions and Identity they are plain text.
type field struct {
	Path     string // "description", "inputSchema.properties.path.type", "inputSchema.required"
	Old, New string
}

const maxFields = 5 // one more than is shown

// Mild reports whether a model reads the same definitions as before, or fewer of them: the
// annotations, the server's name or version changed, or a tool is gone.
func (d Difference) Mild() bool {
	return d.Kind == annotations || d.Kind == Identity || d.Kind == removed
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
			out = append(out, Difference{Tool: name, Kind: removed})
		case o == nil:
			d := Difference{Tool: name, Kind: added, Times: t.Times}
			if text := t.Description(); text != "" {
				d.Fields = []field{{Path: "description", New: string(text)}}
			}
			out = append(out, d)
		case !o.sameDefinition(t):
			d := Difference{Tool: name, Kind: changed, Times: t.Times}
			if object(o.Definition) != nil && object(t.Definition) != nil {
				d.Fields = fieldsOf(fieldsOf(nil, "", o.Definition, t.Definition), "annotations", o.Annotations, t.Annotations)
			}
			out = append(out, d)
		case o.Annotations != t.Annotations:
			d := Difference{Tool: name, Kind: annotations}
			if o.Times <= 1 {
				d.Fields = fieldsOf(nil, "annotations", o.Annotations, t.Annotations)
			}
			out = append(out, d)
		}
	}
	return out
}

func compareServers(old, s Server) (out []Difference) {
	var fields []field
	if old.Name != s.Name {
		fields = append(fields, field{"name", old.Name, s.Name})
	}
	if old.Version != s.Version {
		fields = append(fields, field{"version", old.Version, s.Version})
	}
	if fields != nil {
		out = append(out, Difference{Kind: Identity, Fields: fields})
	}
	if old.Instructions != s.Instructions {
		out = append(out, Difference{Kind: instructions, Fields: []field{{"instructions", old.Instructions, s.Instructions}}})
	}
	return out
}

// fieldsOf appends the places where two canonical JSON values differ. It goes down into objects,
// and into arrays of equal length.
func fieldsOf(out []field, path string, old, value JSON) []field {
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
	return append(out, field{path, string(old), string(value)})
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
