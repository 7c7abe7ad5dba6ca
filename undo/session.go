package undo

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	Before state
	Others *state // what others had left there between two calls, if they had
	After  state  // what stood there at the end of the last call that touched it; valid if Known
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

// operation is what happened to a path, in a word.
type operation string

const (
	made    operation = "made"
	changed operation = "changed"
	removed operation = "removed"
)

// Event is a change as people see it.
type Event struct {
	*Change
	Operation operation
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
		e := Event{c, changed}
		switch {
		case c.Before.Kind == none && after.Kind == none:
			continue
		case c.Before.Kind == none:
			e.Operation = made
		case after.Kind == none:
			e.Operation = removed
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
	return diff(e.Path, before, after)
}

// diff returns the difference of two texts in the unified format, or "" if there is none.
func diff(path string, before, after []byte) string {
	path = show.Name(path) // the server chose the path: it must not look like lines of the difference
	if !bytes.Equal(before, after) && (bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0) {
		return fmt.Sprintf("--- %s\n+++ %s\n(%d and %d bytes that are no text)\n", path, path, len(before), len(after))
	}
	return show.Diff{Context: 3, Counts: true}.Unified(path, before, after)
}

// within reports whether a path is a directory or below it.
func within(path, dir string) bool {
	path, dir = strings.TrimSuffix(path, "/")+"/", strings.TrimSuffix(dir, "/")+"/"
	return strings.HasPrefix(path, dir)
}

// record is a line of a journal: what was at a path (Was), that it changes again although it stands as
// it was noted last (Again), what stands there at the end of a call (Now), or what its other fields say.
type record struct {
	At    int64  `json:",omitempty"`
	Path  []byte `json:",omitempty"` // bytes, because a name need not be text
	Was   *state `json:",omitempty"`
	Again bool   `json:",omitempty"`
	Now   *state `json:",omitempty"`
	Call  *Call  `json:",omitempty"` // what follows belongs to this call
	Head  *Head  `json:",omitempty"`
	End   bool   `json:",omitempty"` // the session has ended
}

// Call is a tools/call of a client. Calls that run at the same time have one number; 0 is no call.
type Call struct {
	Number int
	Tool   string
}

// Head says which server a session is about, and where that server could write.
type Head struct {
	Server string
	Roots  []string // the directories and files that the server may write
	Undoes string   `json:",omitempty"` // the session that was undone, if the changes are those of an undo
	Call   int      `json:",omitempty"` // of that session, if that call alone was undone
}

func (r *record) line() []byte {
	r.At = time.Now().UnixNano()
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers, bytes and texts
	}
	return append(line, '\n')
}

// parse calls f with each record of a journal. damaged reports whether a line cannot be read.
func parse(journal io.Reader, f func(*record)) (damaged bool, err error) {
	in := bufio.NewReaderSize(journal, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return damaged, err
		}
		if len(line) == 0 {
			return damaged, nil
		}
		r := &record{}
		if json.Unmarshal(line, r) != nil || err == io.EOF {
			damaged = true
			continue
		}
		f(r)
	}
}
