package journal

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/diff"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// Change is what happened to a path.
type Change struct {
	Path   string
	Before object.State
	After  object.State // what the server left; valid if Known
	Known  bool
	// Others: others changed the path between two changes of the server.
	Others bool
	// Alive is the last moment at which the jail that changed the path last is known to have lived, in
	// nanoseconds since 1970. Running reports whether that jail still runs. Both are valid unless
	// Known.
	Alive   int64
	Running bool
	Calls   []int          // the calls that touched the path, in their order
	Unsure  bool           // it may belong to another call than the selected one: a record is missing
	Later   int            // the first call after the selected one that touched it; 0: none
	Seen    []object.State // what was there before each change that is on record, without what others left
	own     bool           // the content of Before is that of this path, and not the first one of its inode
}

// History is the sum of what the jails of a session did.
type History struct {
	Changes   []Change                     // sorted by path
	First     map[object.ID]object.State   // each file as it was first seen, with its content if that was kept
	Left      map[object.ID]Left           // each file as the server is known to have left it last
	Stands    map[object.ID]object.ID      // of an undo: the objects that it made, and those for which they stand
	LeftLater map[object.ID]Left           // each file that later calls than the selected one have left, likewise
	Seen      map[object.ID][]object.State // each file as it was before changes that are on record, as in Change.seen
	Alike     map[object.ID]object.ID      // those of them that are no files, and so have no content
	Foreign   map[object.ID]string         // what others left meanwhile, and the server has only moved since: its path
	Gap       string                       // why any change can be missing, or ""
	gaps      map[string]string            // why a change at a path can be missing
}

// LastSweep is the longest pause between two looks at what the server leaves.
const LastSweep = time.Second

// Left is a file as the server left it. Up to the time until, in nanoseconds since 1970, a call of
// the server that is on record has changed the time of the inode: it removed a name of the file.
type Left struct {
	object.State
	until int64
	Call  int
}

// Is reports whether nothing has changed the file since the server did.
func (l *Left) Is(now *object.State) bool {
	return l.SameObject(now) || l.SameButTime(now) && l.Ctime <= now.Ctime && now.Ctime <= l.until
}

// IsLeft reports whether what is at the path of a change is what the server left there. It may
// have changed the file by another name since.
func (h *History) IsLeft(c *Change, now *object.State) bool {
	if !c.Known {
		return false
	}
	l := h.Left[now.ID]
	return now.SameObject(&c.After) || c.After.Kind == object.File && c.After.ID == now.ID && l.Is(now)
}

// Selection says which changes of a session are meant.
type Selection struct {
	Call  int      // a call, or the whole session if the number is 0
	Paths []string // those, and what is below them; all if there are none
	// Take has paths that the user has named one by one: an undo replaces what others left there after the server.
	Take []string
}

// jail is the journal of one jail.
type jail struct {
	records []Record
	alive   int64 // the last moment at which it is known to have lived
	running bool
	damaged bool // a record is missing, or cannot be read
}

// Why changes can be missing from a journal.
const (
	WhyDamaged  = "a part of its journal could not be written or read"
	WhyOverfull = "the server has changed so much that no more was kept"
)

// entry is a record in the order of all jails.
type entry struct {
	*Record
	jail *jail
	call int
}

// Selected reports whether a path is one of paths or below one. Without paths it is true.
func Selected(path string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool {
		return path == p || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/")
	})
}

// history adds up the records of jails. If sel names a call, history leaves out the changes of the
// others.
func history(jails []*jail, sel Selection) *History {
	call := sel.Call
	h := &History{First: map[object.ID]object.State{}, Left: map[object.ID]Left{}, Stands: map[object.ID]object.ID{}, Alike: map[object.ID]object.ID{}, Foreign: map[object.ID]string{}, Seen: map[object.ID][]object.State{}, LeftLater: map[object.ID]Left{}, gaps: map[string]string{}}
	paths := map[string]*Change{}
	owner := map[string]owned{}
	for _, e := range h.entries(jails) {
		switch e.Word {
		case WordLeft:
			h.leaves(e, call)
			continue
		case WordFor:
			h.Stands[e.State.ID] = e.For
			if e.State.Kind != object.File {
				h.Alike[e.State.ID] = e.For
			}
			continue
		}
		// The call that touched a path last left what is there. Another call may run when the keeper
		// finds it.
		if e.Word != WordNow && owner[e.Path].call != e.call {
			owner[e.Path] = owned{e.call, e.State}
		}
		c := paths[e.Path]
		if c != nil && e.State.Kind != 0 && e.Word == WordWas && (!c.Known || h.IsLeft(c, &e.State)) {
			c.Seen = append(c.Seen, e.State)
			h.Seen[e.State.ID] = append(h.Seen[e.State.ID], e.State)
		}
		e.call = owner[e.Path].call
		if e.Word == WordNow {
			h.leaves(e, call)
		}
		switch {
		case call == 0 || call == e.call:
			h.add(paths, e)
		case c != nil && c.Later == 0:
			c.Later = e.call
		}
		if c := paths[e.Path]; c != nil && e.Word == WordNow && owner[e.Path].isIdle(&e.State) {
			c.leaveOut(e.call)
		}
		if c := paths[e.Path]; c != nil && call != 0 && e.jail.damaged {
			c.Unsure = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		h.Changes = append(h.Changes, *paths[path])
	}
	return h
}

// owned is the call that has touched a path last.
type owned struct {
	call  int
	found object.State // what it found there
}

// isIdle reports whether the call has left a file as it had found it. A file that the server keeps
// open is on record in each call.
func (o owned) isIdle(left *object.State) bool {
	return o.call != 0 && left.Kind == object.File && o.found.SameObject(left)
}

func (c *Change) leaveOut(call int) {
	if n := len(c.Calls); n > 0 && c.Calls[n-1] == call {
		c.Calls = c.Calls[:n-1]
	}
	if c.Later == call {
		c.Later = 0
	}
}

func (h *History) entries(jails []*jail) (all []entry) {
	for _, j := range jails {
		if j.damaged {
			h.Gap = WhyDamaged
		}
		at, current := int64(0), 0
		for i := range j.records {
			r := &j.records[i]
			at = max(at, r.At) // a record follows those before it, even if the clock was set back
			r.At = at
			switch {
			case r.Word == wordCall:
				current = r.Call.Number
			case r.Word == WordGap && r.Gap.Path == "":
				h.Gap = r.Gap.Why
			case r.Word == WordGap:
				h.gaps[r.Gap.Path] = r.Gap.Why
			}
			if r.Path != "" {
				all = append(all, entry{r, j, current})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.At, b.At) })
	return all
}

// leaves notes how the server left a file. What it did in calls after the one that is to be undone
// does not count.
func (h *History) leaves(e entry, call int) {
	if e.State.Kind != object.File {
		return
	}
	l := Left{State: e.State, Call: e.call}
	if e.Word == WordLeft { // the state is from before the call that changes the time
		l.until = e.At + int64(LastSweep)
	}
	if call != 0 && e.call > call {
		h.LeftLater[e.State.ID] = l
	} else {
		h.Left[e.State.ID] = l
	}
}

// Missing returns why a change at a path can be missing from the journals, or "".
func (h *History) Missing(path string) string {
	if h.Gap != "" {
		return h.Gap
	}
	return h.gaps[path]
}

func (h *History) add(paths map[string]*Change, e entry) {
	c := paths[e.Path]
	switch {
	case c == nil && e.Word != WordWas && e.Word != WordAnew:
		return // it was changed before the call
	case c == nil:
		// If the server left this file in another state, other programs have changed it since,
		// and have given it this name.
		left, known := h.Left[e.State.ID]
		others := e.Word == WordAnew || known && e.State.Data != object.NoData && !left.Is(&e.State)
		c = &Change{Path: e.Path, Before: e.State, Seen: []object.State{e.State}, own: others, Others: others}
		paths[e.Path] = c
		h.see(e.State, c.own)
	case e.Word == WordWas || e.Word == WordAnew:
		// If this is not the state that the server left, others left it. The first state stays all the
		// same: a server can write through a descriptor that is not seen.
		foreign := e.Word == WordAnew || c.Known && !h.IsLeft(c, &e.State)
		if foreign && e.State.Kind != object.None {
			h.Foreign[e.State.ID] = e.Path
		}
		c.Others = c.Others || foreign
		h.see(e.State, foreign)
	}
	if n := len(c.Calls); e.call > 0 && (n == 0 || c.Calls[n-1] != e.call) {
		c.Calls = append(c.Calls, e.call)
	}
	if c.Known = e.Word == WordNow; c.Known {
		c.After = e.State
		return
	}
	c.Alive, c.Running = e.jail.alive, e.jail.running
}

// see notes the first state of a file, with the content that it had when the server was first about
// to change it. Others may have changed the content until then.
func (h *History) see(s object.State, others bool) {
	if s.Kind != object.File {
		return
	}
	if s.IsOpened() {
		delete(h.Foreign, s.ID) // the content may be the server's from now on
	}
	node, known := h.First[s.ID]
	switch {
	case !known:
		h.First[s.ID] = s
	case !node.IsOpened() && s.IsOpened():
		if others {
			node.Mtime = s.Mtime
		}
		// The attributes stay those that were seen first; the content is the one that was kept.
		node.Size, node.Data, node.Jail, node.Lost = s.Size, s.Data, s.Jail, s.Lost
		node.Masked = cmp.Or(s.Masked, node.Masked)
		h.First[s.ID] = node
	}
}

// Before returns what is to be at the path of a change, with the content of a file if it was
// kept through another name or at another time.
func (h *History) Before(c *Change) object.State {
	s := c.Before
	node, ok := h.First[s.ID]
	if s.Kind != object.File || !ok || s.Data != object.NoData && (s.ID.Birth == 0 || c.own) {
		return s
	}
	// The mode and the times are the first that were seen, under any name of the file.
	node.Nlink = max(node.Nlink, s.Nlink)
	return node
}

// Diff returns the difference of two texts in the unified format, or "" if there is none.
func Diff(path string, before, after []byte) string {
	path = show.Name(path) // the server chose the path: it must not look like lines of the difference
	if !bytes.Equal(before, after) && (bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0) {
		return fmt.Sprintf("--- %s\n+++ %s\n(%d and %d bytes that are no text)\n", path, path, len(before), len(after))
	}
	return diff.Format{Context: 3, Counts: true}.Unified(path, before, after)
}
