package journal

import (
	"path"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// Operation is what happened to a path, in a word.
type Operation string

const (
	Unchanged Operation = ""
	Made      Operation = "made"
	Changed   Operation = "changed"
	Removed   Operation = "removed"
	Renamed   Operation = "renamed"
)

// Event is a change as people see it.
type Event struct {
	Operation Operation
	Path      string
	To        string // of Renamed
	Kind      object.Kind
	Lost      string // why it cannot be undone
	Others    bool   // others changed it between two changes of the server
	Calls     []int
}

// Events returns what happened, with renames as one event each, sorted by path. after returns
// what is at a path whose last state is not known.
func (h *History) Events(after func(path string) object.State) (out []Event) {
	afters := make([]object.State, len(h.Changes))
	at := map[object.ID]int{} // the index of the change at whose path an object is that was elsewhere before
	// First find where each object has gone, so that a rename is one event and not two.
	for i := range h.Changes {
		c := &h.Changes[i]
		if afters[i] = c.After; !c.Known {
			afters[i] = after(c.Path)
		}
		if afters[i].Kind != object.None && afters[i].Kind != 0 && afters[i].ID != c.Before.ID {
			at[afters[i].ID] = i
		}
	}
	target, renamed := map[int]bool{}, map[string]string{}
	for i := range h.Changes {
		if to, ok := h.movedTo(i, afters, at); ok {
			target[to] = true
		}
	}
	for i := range h.Changes {
		c, now := &h.Changes[i], &afters[i]
		e := Event{Path: c.Path, Kind: c.Before.Kind, Calls: c.Calls, Lost: h.Before(c).Lost, Others: c.Others}
		to, moved := h.movedTo(i, afters, at)
		switch {
		case moved:
			e.Operation, e.To = Renamed, h.Changes[to].Path
			// What moved with its directory needs no event of its own.
			dir, name := path.Split(c.Path)
			around, withDir := renamed[path.Clean(dir)]
			if renamed[c.Path] = e.To; withDir && e.To == path.Join(around, name) && c.Before.SameLook(&afters[to]) {
				continue // it moved with its directory
			}
		case c.Before.Kind == object.None && now.Kind != object.None:
			if target[i] {
				continue
			}
			e.Operation, e.Kind = Made, now.Kind
		case now.Kind == object.None && c.Before.Kind != object.None:
			e.Operation = Removed
		case target[i] || h.isUnchanged(c, now):
			continue
		default:
			e.Operation = Changed
		}
		out = append(out, e)
	}
	return out
}

// isUnchanged reports whether a change changed nothing. A server that may have written a file can
// give it the size and the time that it had.
func (h *History) isUnchanged(c *Change, now *object.State) bool {
	before := h.Before(c)
	return c.Before.SameLook(now) && (!before.IsOpened() || c.Before.SameObject(now))
}

// movedTo returns the index of the change to whose path the object from the path of change i has
// moved. It returns false if the object has not moved, or if something was at the new path
// before.
func (h *History) movedTo(i int, afters []object.State, at map[object.ID]int) (int, bool) {
	before := &h.Changes[i].Before
	if before.Kind == object.None || before.ID == afters[i].ID {
		return 0, false
	}
	to, ok := at[before.ID]
	return to, ok && h.Changes[to].Before.Kind == object.None
}
