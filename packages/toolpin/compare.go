package toolpin

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// A Difference is one member in which two pins differ, or a tool that only one of them has.
type Difference struct {
	Server bool   // the member is the server's, and not a tool's
	Tool   string // the name of the tool
	Member string // "" for a whole tool
	// Old and New are what the pins have there, "" for nothing. If one of them has only the hash of a
	// definition, Member is "definition", and both are hashes.
	Old, New JSON
}

// Mild reports whether a model reads the same definitions as before, or fewer of them: the
// annotations, the server's name or version changed, or a tool is gone.
func (d Difference) Mild() bool {
	if d.Server {
		return d.Member != "instructions"
	}
	return d.Member == "annotations" || d.Member == "" && d.New == ""
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
		switch o, t := old.Find(name), p.Find(name); {
		case t == nil:
			out = append(out, Difference{Tool: name, Old: o.Definition})
		case o == nil:
			out = append(out, Difference{Tool: name, New: t.Definition})
		default:
			out = append(out, compareTools(o, t)...)
		}
	}
	return out
}

func compareServers(old, s Server) []Difference {
	return compareMembers(Difference{Server: true}, old.members(), s.members())
}

func (s Server) members() map[string]JSON {
	all := map[string]JSON{}
	for member, text := range map[string]string{"name": s.Name, "version": s.Version, "instructions": s.Instructions} {
		if text != "" {
			all[member] = quote(text)
		}
	}
	return all
}

// compareTools compares two tools of one name.
func compareTools(old, t *Tool) []Difference {
	if old.Times != t.Times { // all else is a hash then
		return []Difference{{Tool: t.Name, Member: "times", Old: old.times(), New: t.times()}}
	}
	was, is := object(old.Definition), object(t.Definition)
	if was == nil || is == nil {
		was, is = map[string]JSON{"definition": old.Definition.hashed()}, map[string]JSON{"definition": t.Definition.hashed()}
	}
	was["annotations"], is["annotations"] = old.Annotations, t.Annotations
	return compareMembers(Difference{Tool: t.Name}, was, is)
}

func (t *Tool) times() JSON { return JSON(strconv.Itoa(max(t.Times, 1))) }

// compareMembers returns a difference of something for each member in which it differs.
func compareMembers(of Difference, old, now map[string]JSON) (out []Difference) {
	both := maps.Clone(old)
	maps.Copy(both, now)
	for _, member := range slices.Sorted(maps.Keys(both)) {
		if of.Member, of.Old, of.New = member, old[member], now[member]; of.Old != of.New {
			out = append(out, of)
		}
	}
	return out
}

// Bounds of one line, in characters.
const (
	maxShownName = 80
	maxShownText = 160
	contextWidth = 24 // shown before the first character that differs
)

// String returns the difference in one line: what differs, and the canonical JSON of both. It is bounded, and
// shown as [show.Named] shows it.
func (d Difference) String() string {
	of := "server"
	if !d.Server {
		of = "tool " + named(d.Tool)
	}
	if d.Member != "" {
		of += " " + show.Named(d.Member, maxShownName)
	}
	old, now := window(string(d.Old), string(d.New))
	return of + ": " + shown(old) + " → " + shown(now)
}

// named returns a name as a JSON string, which the name cannot end.
func named(name string) string { return show.Named(string(quote(name)), maxShownName) }

func shown(text string) string {
	if text == "" {
		return "(none)"
	}
	return show.Named(text, maxShownText)
}

// window cuts the common beginning of two texts, if one of them is too long, so that the first
// difference shows. It keeps the last characters of that beginning.
func window(a, b string) (string, string) {
	if fits(a) && fits(b) {
		return a, b
	}
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	for same > 0 && (same < len(a) && !utf8.RuneStart(a[same]) || same < len(b) && !utf8.RuneStart(b[same])) {
		same--
	}
	for width := 0; same > 0; {
		_, n := utf8.DecodeLastRuneInString(a[:same])
		one, _ := show.NamedWidth(a[same-n:])
		if width += one; width > contextWidth {
			break
		}
		same -= n
	}
	if same == 0 {
		return a, b
	}
	return "…" + a[same:], "…" + b[same:]
}

func fits(text string) bool {
	for width := 0; text != ""; {
		one, n := show.NamedWidth(text)
		if width += one; width > maxShownText {
			return false
		}
		text = text[n:]
	}
	return true
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
