package undo

import (
	"path/filepath"
	"slices"
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
	all, _ := Store{filepath.Dir(r.Session.Dir)}.Sessions() // a session that cannot be read is left out
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
	return r.later
}

// laterChange explains a path by what later sessions did. session is the first of them that changed
// the path and was not undone there, or "". known reports whether there is one, or else whether the
// path has what this session left.
func (r *Restorer) laterChange(c *Change, now *State) (session string, known bool) {
	if !c.Known {
		return "", false
	}
	same := []State{c.After} // states that are as good as what this session left
	has := func(s *State) bool {
		return slices.ContainsFunc(same, func(one State) bool { return one.sameObject(s) })
	}
	for _, t := range r.laterSessions() {
		change := t.changes[c.Path]
		if change == nil || !has(&change.Before) {
			continue
		}
		undone := r.undoneBy(t, change, now)
		if undone == nil {
			return t.ID, true
		}
		same = append(same, *undone)
	}
	return "", has(now)
}

// undoneBy returns what the undo of a session left at a path, or nil if it was not undone there.
func (r *Restorer) undoneBy(t later, change *Change, now *State) *State {
	want := t.history.before(change)
	for _, u := range r.laterSessions() {
		if u.Head.Undoes != t.ID {
			continue
		}
		c := u.changes[change.Path]
		if c == nil || !c.Known || !want.sameLook(&c.After) {
			continue
		}
		if kept := want.Kind == File && want.Data != NoData; kept && c.After.sameObject(now) && !t.sameContent(&want, change.Path) {
			continue
		}
		return &c.After
	}
	return nil
}
