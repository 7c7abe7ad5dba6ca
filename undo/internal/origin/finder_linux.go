package origin

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// Finder tells who left what is at a path: the session, a later one, an undo, or others.
type Finder struct {
	session  *journal.Session
	history  *journal.History
	wanted   map[object.ID]bool      // the objects that are to be somewhere
	replaced map[object.ID]object.ID // the files that later undos have made, and those that they replaced
	later    []later                 // the sessions after this one; nil: not looked for yet
	settled  map[int][]byte          // of a session that was killed: what is still to be written to its journals
}

// NewFinder looks at what became of a session since. The history is one of that session. If the
// session was killed, NewFinder adds to the history what it left.
func NewFinder(s *journal.Session, h *journal.History) *Finder {
	f := &Finder{session: s, history: h, replaced: map[object.ID]object.ID{}, wanted: map[object.ID]bool{}}
	if !s.Running && !s.Ended {
		f.settle()
	}
	for i := range h.Changes {
		f.wanted[h.Before(&h.Changes[i]).ID] = true
	}
	f.findReplaced()
	return f
}

// later is a session that began after the one to undo.
type later struct {
	*journal.Session
	history *journal.History
	changes map[string]*journal.Change
}

func (f *Finder) laterSessions() []later {
	if f.later != nil {
		return f.later
	}
	f.later = []later{}
	for _, s := range slices.Backward(journal.Siblings(f.session)) {
		if !s.Started.After(f.session.Started) {
			continue
		}
		l := later{s, s.History(journal.Selection{}), map[string]*journal.Change{}}
		for i := range l.history.Changes {
			l.changes[l.history.Changes[i].Path] = &l.history.Changes[i]
		}
		f.later = append(f.later, l)
	}
	for i := range f.later {
		f.settleKilled(i)
	}
	return f.later
}

// Undos returns the histories of the undos of the session.
func (f *Finder) Undos() (out []*journal.History) {
	for _, t := range f.laterSessions() {
		if t.Head.Undoes == f.session.ID {
			out = append(out, t.history)
		}
	}
	return out
}

// settleKilled finds out what a later session left that was killed: what the next session found
// there, or what is there now, unless that was changed after the session.
func (f *Finder) settleKilled(i int) {
	t := &f.later[i]
	if t.Ended || t.Running {
		return
	}
	for path, c := range t.changes {
		if c.Known {
			continue
		}
		if st, err := f.foundAfter(i, path); err == nil && t.outlives(&st) {
			if c.Known, c.After = true, st; st.Kind == object.File {
				t.history.Left[st.ID] = journal.Left{State: st}
			}
		}
	}
}

// foundAfter returns what was at a path after a later session, or after this one if i is -1: what
// the next session found there, or else what is there now. An earlier one of these sessions may
// have found the file by another name. If the file had only that name then, it came here later.
func (f *Finder) foundAfter(i int, path string) (object.State, error) {
	after := f.later[i+1:]
	found, err := object.LookPath(path)
	if n := slices.IndexFunc(after, func(t later) bool { return t.changes[path] != nil }); n >= 0 {
		found, err, after = after[n].changes[path].Before, nil, after[:n+1]
	}
	for _, t := range after {
		if first, ok := t.history.First[found.ID]; ok && first.Nlink > 1 {
			found = first
			break
		}
	}
	found.Data, found.Lost = object.NoData, ""
	return found, err
}

// outlives reports whether a session that was killed lived when an object was changed last. What is
// made in a directory changes its times, so the time at which it was made counts.
func (t *later) outlives(st *object.State) bool {
	at := st.Ctime
	if st.Kind == object.Dir && st.ID.Birth != 0 {
		at = st.ID.Birth
	}
	return st.Kind == object.None || at <= slices.Max(journal.LastSigns(t.Session))+int64(Heartbeat)
}

// findReplaced notes which files later undos have made, and what each replaced. If the session is an undo itself,
// its own files have another content than those that they replaced; its links have no content.
func (f *Finder) findReplaced() {
	maps.Copy(f.replaced, f.history.Alike)
	for _, t := range f.laterSessions() {
		maps.Copy(f.replaced, t.history.Stands)
	}
	if len(f.history.Alike) > 0 {
		f.joinAlike()
	}
}

// joinAlike is for the undo of an undo. Earlier undos may have made a link or a directory several
// times, so that what is there now and what is wanted are made for the same object, and neither
// for the other. The one that is there then stands for the wanted one.
func (f *Finder) joinAlike() {
	alike, wanted := map[object.ID]object.ID{}, map[object.ID]object.ID{}
	for _, s := range journal.Siblings(f.session) {
		maps.Copy(alike, s.History(journal.Selection{}).Alike)
	}
	first := func(id object.ID) object.ID {
		// The bound ends a circle, which only a damaged journal has.
		for range alike {
			original, ok := alike[id]
			if !ok {
				break
			}
			id = original
		}
		return id
	}
	for i := range f.history.Changes {
		if want := f.history.Before(&f.history.Changes[i]); want.Kind != object.None && want.Kind != object.File {
			wanted[first(want.ID)] = want.ID
		}
	}
	// In an order: FileOf sees what was noted before, and so the result depends on it.
	byID := func(a, b object.ID) int {
		return cmp.Or(cmp.Compare(a.Birth, b.Birth), cmp.Compare(a.Ino, b.Ino), cmp.Compare(a.Dev, b.Dev))
	}
	for _, id := range slices.SortedFunc(maps.Keys(alike), byID) {
		for _, id := range []object.ID{id, alike[id]} {
			if want, ok := wanted[first(id)]; ok && !f.wanted[f.FileOf(id)] {
				f.replaced[id] = want
			}
		}
	}
}

// FileOf returns the file of this session that a file replaced. An undo that puts content back makes
// a new file. If that undo came before the end of this session, this session may know the new file.
// Then FileOf returns the new file itself.
func (f *Finder) FileOf(id object.ID) object.ID {
	for range f.replaced {
		original, ok := f.replaced[id]
		if !ok || f.wanted[id] {
			break
		}
		id = original
	}
	return id
}

// IsWanted reports whether an object, or the one that it replaced, is to be somewhere.
func (f *Finder) IsWanted(id object.ID) bool { return f.wanted[f.FileOf(id)] }

// standsFor reports whether a file is another one, or a later undo has made it for that one.
func (f *Finder) standsFor(id, other object.ID) bool {
	for range f.replaced {
		original, ok := f.replaced[id]
		if !ok || id == other {
			break
		}
		id = original
	}
	return id == other
}

// Is reports whether a file is another one, or stands for it.
func (f *Finder) Is(file, other object.ID) bool { return file == other || f.FileOf(file) == other }

// laterChange explains a path by what later sessions did. session is the first of them that changed
// the path and was not undone there, or "". known reports whether there is one, or else whether the
// path has what this session left.
func (f *Finder) laterChange(c *journal.Change, now *object.State) (session string, known bool) {
	if !c.Known {
		return "", false
	}
	id := c.After.ID
	if l, ok := f.history.Left[id]; ok && f.StillLeft(l, now) {
		return "", true
	}
	// same has the states that are as good as the one left: each later change that was undone adds one.
	same := asLeft{{State: c.After}}
	if l, ok := f.history.Left[id]; ok {
		same = append(same, l)
	}
	for _, t := range f.laterSessions() {
		first, touched := t.history.First[id]
		l := t.history.Left[id]
		change := t.changes[c.Path]
		switch {
		case change == nil && !(touched && same.has(&first)):
		case change == nil: // it changed the file by another name
			if t.Head.Undoes == "" && !l.SameButTime(&c.After) && !same.has(now) {
				return t.ID, true
			}
			same = append(same, l)
		case !same.has(&change.Before) && (change.Others || change.Before.ID != id || !same.has(&first)):
		case change.Known && same.has(&change.After): // a directory, of which only the attributes changed
		case change.Known && change.Before.Kind == object.File && change.Before.SameButTime(&change.After):
			same = append(same, journal.Left{State: change.After}) // only the names of the file changed
		default:
			undone := f.undoneBy(t, change, now)
			if undone == nil {
				return t.ID, true
			}
			same = append(same, journal.Left{State: *undone})
		}
	}
	return "", same.has(now)
}

// asLeft are states of a path or a file that are as good as the one that a session left.
type asLeft []journal.Left

func (a asLeft) has(s *object.State) bool {
	return slices.ContainsFunc(a, func(l journal.Left) bool { return l.Is(s) })
}

// StillLeft reports whether a file is as it was left, or stands for it and is: what later sessions
// did to it was undone, or was only about its names.
func (f *Finder) StillLeft(l journal.Left, now *object.State) bool {
	if !f.Is(now.ID, l.ID) || !now.SameLook(&l.State) {
		return false
	}
	same, changedBy := asLeft{l}, map[string]bool{}
	for _, t := range f.laterSessions() {
		// Follow the file back through the files that undos made for it.
		for id := now.ID; ; id = f.replaced[id] {
			first := t.history.First[id]
			_, made := t.history.Stands[id]
			if same.has(&first) || made && changedBy[t.Head.Undoes] {
				same = append(same, t.history.Left[id])
				changedBy[t.ID] = true
			}
			if id == l.ID {
				break
			}
		}
	}
	return same.has(now)
}

// undoneBy returns what the last undo of a session left at a path, or nil if the session was not
// undone there. A directory or a link that looks as before needs no undo.
func (f *Finder) undoneBy(t later, change *journal.Change, now *object.State) *object.State {
	want := t.history.Before(change)
	for _, u := range slices.Backward(f.laterSessions()) {
		if u.Head.Undoes != t.ID {
			continue
		}
		c := u.changes[change.Path]
		if c == nil || !c.Known || !want.IsRestored(&c.After) {
			continue
		}
		if want.Kind == object.File && !f.standsFor(c.After.ID, want.ID) { // it only looks like that file
			continue
		}
		if kept := want.Kind == object.File && want.Data != object.NoData; kept && c.After.SameObject(now) && !journal.SameContent(t.Session, &want, change.Path) {
			continue
		}
		return &c.After
	}
	if (want.Kind == object.Dir || want.Kind == object.Link) && want.IsRestored(now) {
		return now
	}
	return nil
}

// UndoLeft reports whether an undo of this session was the last to change what is at a path.
func (f *Finder) UndoLeft(path string, now *object.State) bool {
	own := map[string]bool{f.session.ID: true}
	for _, t := range f.laterSessions() {
		if !own[t.Head.Undoes] {
			continue
		}
		own[t.ID] = true // and so is an undo of that undo
		if t.leaves(path, now) {
			return true
		}
	}
	return false
}

// leaves reports whether an undo was the last to change what is at a path. If it was killed, the
// last change to the inode must be from the time of its life.
func (t *later) leaves(path string, now *object.State) bool {
	c, l := t.changes[path], t.history.Left[now.ID]
	if l.Is(now) || c != nil && c.Known && now.SameObject(&c.After) {
		return true
	}
	_, touched := t.history.First[now.ID]
	if touched = touched || c != nil; !touched || t.Ended || t.Running {
		return false
	}
	return t.livedAt(now)
}

func (t *later) livedAt(now *object.State) bool {
	return now.Ctime >= t.Started.UnixNano()-int64(ClockTick) && t.outlives(now)
}

// ClockTick is more than the time by which the kernel's clock for inodes lags the one that a
// session takes its start from.
const ClockTick = 10 * time.Millisecond

// IsLeftover reports whether an undo of this session was the last to change what has a temporary name.
func (f *Finder) IsLeftover(path string, st *object.State) bool {
	for _, t := range f.laterSessions() {
		if t.Head.Undoes == f.session.ID && !t.Ended && !t.Running && t.livedAt(st) {
			return true
		}
	}
	return f.UndoLeft(path, st)
}
