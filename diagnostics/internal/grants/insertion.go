package grants

import (
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Taken is what a configuration has already of the table of a grant.
type Taken struct {
	Name string // the last part of its key; "" if only the table is known
	Line int
	List bool     // it is a list in one value
	Open bool     // it is a table with a header
	Rest []string // the parts of the grant's table that are not in its key
}

// Insertion returns a grant as a phrase that says where in the file to put it in.
func (w Writer) Insertion(n Grant, t Taken, file string) string {
	b := w.block(n)
	fields := strings.Join(b.fields, ", ")
	item := strings.Replace("{ "+fields+" }", "{  }", "{}", 1)
	place := " `" + t.Name + "` in line " + strconv.Itoa(t.Line) + " of " + file
	said := ""
	switch {
	case t.Name == "":
		return file + " has such a table or list already: put in " + w.Phrase(n) + " there"
	case t.List:
		said = "add `" + item + "` at the end of the list" + place // of two rules for a path, the last one holds
	case n.Limit != "" && len(t.Rest) == 0: // the table may have the limit, and has others
		said = "set `" + fields + "` in the table" + place
	case t.Open:
		said = "add `" + fields + "` to the table" + place
	case len(t.Rest) == 0:
		said = "put `" + item + "` in place of the table" + place
	default:
		if strings.HasPrefix(b.table, "[[") {
			item = "[" + item + "]"
		}
		for i := len(t.Rest) - 1; i > 0; i-- {
			item = "{ " + show.Key(t.Rest[i]) + " = " + item + " }"
		}
		said = "add `" + show.Key(t.Rest[0]) + " = " + item + "` to the table" + place
	}
	if n.With != "" {
		said += ", and " + w.Insertion(n.companion(), t, file)
	}
	return said
}
