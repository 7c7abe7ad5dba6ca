package undo

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/diff"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Store is the directory with the kept sessions of a server.
type Store struct {
	Dir string
	// Base is a directory above Dir, below which no symbolic link is followed. "" is Dir.
	Base string
}

const journalName, dataName = "journal", "data"

func (s Store) open(how func(base, below string) (*private.Dir, error), names ...string) (*private.Dir, error) {
	base := cmp.Or(s.Base, s.Dir)
	below, err := filepath.Rel(base, filepath.Join(s.Dir, filepath.Join(names...)))
	if err != nil {
		return nil, err
	}
	return how(base, below)
}

// Session is what was kept of one session of a server.
type Session struct {
	ID      string
	Head    Head
	Started time.Time
	Running bool
	Ended   bool // mcp-jail was not killed
	Damaged bool // the journal has lines that cannot be read
	Calls   []Call
	records []called
	store   Store
}

// called is a record of a path, with the number of the call that it belongs to.
type called struct {
	record
	call int
}

// Selection is a part of a session.
type Selection struct {
	Call  int      // 0 is all of them
	Paths []string // with what is below them; none is all
	Take  []string // are put back although others have changed them
}

func (sel *Selection) has(path string) bool {
	return len(sel.Paths) == 0 || slices.ContainsFunc(sel.Paths, func(p string) bool { return within(path, p) })
}

// Change is what the selected calls did to a path.
type Change struct {
	Path   string
	Before State
	Others *State // what others had left there between two calls, if they had
	After  State  // what stood there at the end of the last call that touched it; valid if Known
	Known  bool
	Calls  []int // without 0
	Later  bool  // the session has touched the path after the selected call
}

// Changes adds up the records of a session, by path.
func (s *Session) Changes(sel Selection) []*Change {
	at, last := map[string]*Change{}, map[string]int{} // last has the call of the last record
	for i := range s.records {
		r := &s.records[i]
		path := string(r.Path)
		c := at[path]
		switch {
		case !sel.has(path), c == nil && r.Was == nil: // what was there first is missing in a damaged journal
		case sel.Call != 0 && r.call != sel.Call:
			if c != nil && r.Now == nil {
				c.Later = true
			}
		case r.Now != nil:
			c.After, c.Known, last[path] = *r.Now, true, r.call
		case r.Was != nil || r.Again:
			if c == nil {
				c = &Change{Path: path, Before: *r.Was}
				at[path] = c
			} else if r.Was != nil && (r.call == 0 || r.call != last[path]) && !(c.Known && c.After.sameContent(r.Was)) {
				c.Others = r.Was
			}
			if r.call != 0 && !slices.Contains(c.Calls, r.call) {
				c.Calls = append(c.Calls, r.call)
			}
			c.Known, last[path] = false, r.call
		}
	}
	return slices.SortedFunc(maps.Values(at), func(a, b *Change) int { return cmp.Compare(a.Path, b.Path) })
}

// Empty reports whether the session has changed nothing so far.
func (s *Session) Empty() bool { return len(s.records) == 0 }

// Operation is what happened to a path, in a word.
type Operation string

const (
	Made    Operation = "made"
	Changed Operation = "changed"
	Removed Operation = "removed"
)

// Event is a change as people see it.
type Event struct {
	*Change
	Operation Operation
}

// Events returns what happened, sorted by path.
func (s *Session) Events(sel Selection) (out []Event) {
	for _, c := range s.Changes(sel) {
		if c.Known && c.Others == nil && c.Before.restored(&c.After) && c.Before.sameTime(&c.After) {
			continue
		}
		after := c.After
		if !c.Known {
			after, _ = s.now(c.Path)
		}
		e := Event{c, Changed}
		switch {
		case c.Before.Kind == None && after.Kind == None:
			continue
		case c.Before.Kind == None:
			e.Operation = Made
		case after.Kind == None:
			e.Operation = Removed
		}
		out = append(out, e)
	}
	return out
}

// maxDiff bounds the size of a file whose difference is shown.
const maxDiff = 1 << 20

// Diff returns how what is at a path now differs from what was there before.
func (s *Session) Diff(e Event) string {
	before, err := s.shown(&e.Before)
	if err != nil {
		return "(" + err.Error() + ")\n"
	}
	after, err := s.shownNow(e.Path)
	if err != nil {
		return "(" + err.Error() + ")\n"
	}
	return Diff(e.Path, before, after)
}

// Diff returns the difference of two texts in the unified format, or "" if there is none.
func Diff(path string, before, after []byte) string {
	path = show.Name(path) // the server chose the path: it must not look like lines of the difference
	if !bytes.Equal(before, after) && (bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0) {
		return fmt.Sprintf("--- %s\n+++ %s\n(%d and %d bytes that are no text)\n", path, path, len(before), len(after))
	}
	return diff.Format{Context: 3, Counts: true}.Unified(path, before, after)
}

// within reports whether a path is a directory or below it.
func within(path, dir string) bool {
	path, dir = strings.TrimSuffix(path, "/")+"/", strings.TrimSuffix(dir, "/")+"/"
	return strings.HasPrefix(path, dir)
}
