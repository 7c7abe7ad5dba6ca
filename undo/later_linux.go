package undo

import (
	"maps"
	"slices"
	"time"
)

// later is a session that began after the one to undo.
type later struct {
	*Session
	history *History
	changes map[string]*Change
}

// laterSessions returns the sessions of the server that began after this one, in their order.
func (r *Restorer) laterSessions() []later {
	if r.later != nil {
		return r.later
	}
	r.later = []later{}
	all, _ := r.Session.store.Sessions() // a session that cannot be read is left out
	for _, s := range slices.Backward(all) {
		if !s.Started.After(r.Session.Started) {
			continue
		}
		l := later{s, s.History(Selection{}), map[string]*Change{}}
		for i := range l.history.Changes {
			l.changes[l.history.Changes[i].Path] = &l.history.Changes[i]
		}
		r.later = append(r.later, l)
	}
	for i := range r.later {
		r.settleKilled(i)
	}
	return r.later
}

// settleKilled finds out what a later session left that was killed: what the next session found
// there, or what stands there now, unless that was changed after the session.
func (r *Restorer) settleKilled(i int) {
	t := &r.later[i]
	if t.Ended || t.Running {
		return
	}
	for path, c := range t.changes {
		if c.Known {
			continue
		}
		if st, err := r.foundAfter(i, path); err == nil && t.outlives(&st) {
			if c.Known, c.After = true, st; st.Kind == File {
				t.history.left[st.ID] = left{State: st}
			}
		}
	}
}

// foundAfter returns what stood at a path after a later session, or after this one if i is -1: what
// the next session found there, or else what stands there now. An earlier one of these sessions may
// have found the file by another name. If the file had only that name then, it came here later.
func (r *Restorer) foundAfter(i int, path string) (State, error) {
	after := r.later[i+1:]
	found, err := lookPath(path)
	if n := slices.IndexFunc(after, func(t later) bool { return t.changes[path] != nil }); n >= 0 {
		found, err, after = after[n].changes[path].Before, nil, after[:n+1]
	}
	for _, t := range after {
		if first, ok := t.history.nodes[found.ID]; ok && first.Nlink > 1 {
			found = first
			break
		}
	}
	found.Data, found.Lost = NoData, ""
	return found, err
}

// outlives reports whether a session that was killed lived when an object was changed last. What is
// made in a directory changes its times, so the time at which it was made counts.
func (t *later) outlives(st *State) bool {
	at := st.Ctime
	if st.Kind == Dir && st.ID.Birth != 0 {
		at = st.ID.Birth
	}
	return st.Kind == None || at <= t.alive()+int64(heartbeat)
}

// findStands notes which files later undos have made for which. If the session is an undo itself,
// its own files have another content than those for which they stand; its links have no content.
func (r *Restorer) findStands() {
	maps.Copy(r.stands, r.history.alike)
	for _, t := range r.laterSessions() {
		maps.Copy(r.stands, t.history.stands)
	}
	if len(r.history.alike) > 0 {
		r.joinAlike()
	}
}

// joinAlike is for the undo of an undo. Earlier undos may have made a link or a directory several
// times, so that what stands there now and what is wanted are made for the same object, and neither
// for the other. The one that stands there then stands for the wanted one.
func (r *Restorer) joinAlike() {
	alike, wanted := map[ID]ID{}, map[ID]ID{}
	all, _ := r.Session.store.Sessions() // a session that cannot be read is left out
	for _, s := range all {
		maps.Copy(alike, s.History(Selection{}).alike)
	}
	first := func(id ID) ID {
		for range alike {
			of, ok := alike[id]
			if !ok {
				break
			}
			id = of
		}
		return id
	}
	for i := range r.history.Changes {
		if want := r.history.before(&r.history.Changes[i]); want.Kind != None && want.Kind != File {
			wanted[first(want.ID)] = want.ID
		}
	}
	for id, of := range alike {
		for _, id := range []ID{id, of} {
			if want, ok := wanted[first(id)]; ok && !r.wanted[r.fileOf(id)] {
				r.stands[id] = want
			}
		}
	}
}

// fileOf returns the file of this session for which a file stands. An undo that puts content back
// makes a new file. If that undo came before the end of this session, this session may know the new
// file: then the new one stands for itself.
func (r *Restorer) fileOf(id ID) ID {
	for range r.stands {
		of, ok := r.stands[id]
		if !ok || r.wanted[id] {
			break
		}
		id = of
	}
	return id
}

// standsFor reports whether a file is another one, or a later undo has made it for that one.
func (r *Restorer) standsFor(id, other ID) bool {
	for range r.stands {
		of, ok := r.stands[id]
		if !ok || id == other {
			break
		}
		id = of
	}
	return id == other
}

// is reports whether a file is another one, or stands for it.
func (r *Restorer) is(file, other ID) bool { return file == other || r.fileOf(file) == other }

// laterChange explains a path by what later sessions did. session is the first of them that changed
// the path and was not undone there, or "". known reports whether there is one, or else whether the
// path has what this session left.
func (r *Restorer) laterChange(c *Change, now *State) (session string, known bool) {
	if !c.Known {
		return "", false
	}
	id := c.After.ID
	if l, ok := r.history.left[id]; ok && r.stillLeft(l, now) {
		return "", true
	}
	same := asLeft{{State: c.After}}
	if l, ok := r.history.left[id]; ok {
		same = append(same, l)
	}
	for _, t := range r.laterSessions() {
		first, touched := t.history.nodes[id]
		l := t.history.left[id]
		change := t.changes[c.Path]
		switch {
		case change == nil && !(touched && same.has(&first)):
		case change == nil: // it changed the file by another name
			if t.Head.Undoes == "" && !l.sameButTime(&c.After) && !same.has(now) {
				return t.ID, true
			}
			same = append(same, l)
		case !same.has(&change.Before) && (change.Others || change.Before.ID != id || !same.has(&first)):
		case change.Known && same.has(&change.After): // a directory, of which only the attributes changed
		case change.Known && change.Before.Kind == File && change.Before.sameButTime(&change.After):
			same = append(same, left{State: change.After}) // only the names of the file changed
		default:
			undone := r.undoneBy(t, change, now)
			if undone == nil {
				return t.ID, true
			}
			same = append(same, left{State: *undone})
		}
	}
	return "", same.has(now)
}

// asLeft are states of a path or a file that are as good as the one that a session left.
type asLeft []left

func (a asLeft) has(s *State) bool {
	return slices.ContainsFunc(a, func(one left) bool { return one.is(s) })
}

// stillLeft reports whether a file is as it was left, or stands for it and is: what later sessions
// did to it was undone, or was only about its names.
func (r *Restorer) stillLeft(l left, now *State) bool {
	if !r.is(now.ID, l.ID) || !now.sameLook(&l.State) {
		return false
	}
	same, changedBy := asLeft{l}, map[string]bool{}
	for _, t := range r.laterSessions() {
		for id := now.ID; ; id = r.stands[id] {
			first := t.history.nodes[id]
			_, made := t.history.stands[id]
			if same.has(&first) || made && changedBy[t.Head.Undoes] {
				same = append(same, t.history.left[id])
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
func (r *Restorer) undoneBy(t later, change *Change, now *State) *State {
	want := t.history.before(change)
	for _, u := range slices.Backward(r.laterSessions()) {
		if u.Head.Undoes != t.ID {
			continue
		}
		c := u.changes[change.Path]
		if c == nil || !c.Known || !want.isRestored(&c.After) {
			continue
		}
		if want.Kind == File && !r.standsFor(c.After.ID, want.ID) { // it only looks like that file
			continue
		}
		if kept := want.Kind == File && want.Data != NoData; kept && c.After.sameObject(now) && !t.sameContent(&want, change.Path) {
			continue
		}
		return &c.After
	}
	if (want.Kind == Dir || want.Kind == Link) && want.isRestored(now) {
		return now
	}
	return nil
}

// undoLeft reports whether an undo of this session was the last to change what stands at a path.
func (r *Restorer) undoLeft(path string, now *State) bool {
	own := map[string]bool{r.Session.ID: true}
	for _, t := range r.laterSessions() {
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

// leaves reports whether an undo was the last to change what stands at a path. If it was killed, the
// last change to the inode has to be from the time of its life.
func (t *later) leaves(path string, now *State) bool {
	c, l := t.changes[path], t.history.left[now.ID]
	if l.is(now) || c != nil && c.Known && now.sameObject(&c.After) {
		return true
	}
	_, touched := t.history.nodes[now.ID]
	if touched = touched || c != nil; !touched || t.Ended || t.Running {
		return false
	}
	return t.livedAt(now)
}

// livedAt reports whether a session that was killed lived when an object was changed last.
func (t *later) livedAt(now *State) bool {
	return now.Ctime >= t.Started.UnixNano()-int64(clockTick) && t.outlives(now)
}

// clockTick is more than the time by which the kernel's clock for inodes is behind the one that a
// session takes its start from.
const clockTick = 10 * time.Millisecond

// alive returns the last moment at which a session is known to have lived.
func (s *Session) alive() (at int64) {
	for _, j := range s.jails {
		at = max(at, j.alive)
	}
	return at
}
