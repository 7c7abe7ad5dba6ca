package steps

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"github.com/mcp-jail/mcp-jail/undo/internal/origin"
	"golang.org/x/sys/unix"
)

// Review compares what is at paths with what was there before a session, or a call of it, and
// decides on the steps of an undo.
type Review struct {
	Steps   []Step
	session *journal.Session
	history *journal.History
	take    []string // see Selection.Take
	Origin  *origin.Finder
	changes map[string]*journal.Change
	Paths   map[string]int         // the index of a step, or -1 where nothing must be done
	At      map[object.ID]string   // where an inode is now, of the paths of the history
	Made    map[object.ID]string   // files with several names: one path where each is as it was
	Moved   map[object.ID][]string // objects that were moved: the paths that they are to have again
	Aside   map[object.ID]string   // objects that moved to the path of a directory: their temporary names
	Scan    map[object.ID][]string // further names of files with several, below the roots
	here    map[object.ID]bool     // the objects that are at paths of the history
	touched map[string]bool        // the paths of the whole session; nil: not looked for yet
}

// NewReview decides how to undo a selection of what a session did. It changes nothing.
func NewReview(s *journal.Session, sel journal.Selection) *Review {
	history := s.History(sel)
	origin := origin.NewFinder(s, history)
	r := &Review{session: s, history: history, take: sel.Take, Origin: origin, changes: map[string]*journal.Change{}, Paths: map[string]int{}, At: map[object.ID]string{}, Made: map[object.ID]string{}, Moved: map[object.ID][]string{}, Aside: map[object.ID]string{}, here: map[object.ID]bool{}}
	nows := make([]object.State, len(r.history.Changes))
	errs := make([]error, len(r.history.Changes))
	// First look at every path: an object may be at another one now.
	for i := range r.history.Changes {
		path := r.history.Changes[i].Path
		r.changes[path] = &r.history.Changes[i]
		if nows[i], errs[i] = object.LookPath(path); errs[i] == nil && nows[i].Kind != object.None {
			r.here[nows[i].ID] = true
			id := r.Origin.FileOf(nows[i].ID)
			if r.At[id] == "" || r.history.Before(&r.history.Changes[i]).ID != id { // rather where it moved
				r.At[id] = path
			}
		}
	}
	r.findAside()
	for i := range r.history.Changes {
		path, want := r.history.Changes[i].Path, r.history.Before(&r.history.Changes[i])
		if r.isMoved(&want, &nows[i], path) {
			r.Moved[want.ID] = append(r.Moved[want.ID], path)
		}
	}
	for i := range r.history.Changes {
		c := &r.history.Changes[i]
		if journal.Selected(c.Path, sel.Paths) {
			r.decide(c, nows[i], errs[i])
		}
	}
	r.joinNames()
	r.refuseFixed()
	r.keepMoved()
	r.leftovers()
	r.otherNames(sel.Paths)
	return r
}

// isMoved reports whether what is to be at a path was moved away from there. A file that has
// another content since was not moved, but one that stands for it may have been.
func (r *Review) isMoved(want, now *object.State, path string) bool {
	kept := want.Kind == object.File && want.Data != object.NoData
	other := r.onlyStandsFor(want, now)
	switch {
	case want.Kind == object.None, want.Kind == object.Dir && now.Kind == object.Dir:
		return false
	case !other && (r.Origin.Is(now.ID, want.ID) && !(kept && !journal.SameContent(r.session, want, path)) || r.Matches(want, now, path)):
		return false
	case !kept:
		return true
	}
	from, ok := r.At[want.ID]
	if !ok {
		from, ok = r.Aside[want.ID]
	}
	return ok && from != path && journal.SameContent(r.session, want, from)
}

// onlyStandsFor reports whether an undo has made a file for the wanted one, which is elsewhere and has
// what was not kept of it.
func (r *Review) onlyStandsFor(want, now *object.State) bool {
	return want.Kind == object.File && want.Data == object.NoData && now.ID != want.ID && r.here[want.ID]
}

// keepMoved refuses the steps that would remove an object that moved, if no other step puts it back.
// A refused step may be the one that would have moved another object.
func (r *Review) keepMoved() {
	for again := true; again; {
		again = false
		for i := range r.Steps {
			s := &r.Steps[i]
			if s.Action == Refuse || s.Action == Attributes {
				continue
			}
			err := r.NotMovedBack(&s.Now, s.Path)
			if c := r.changes[s.Path]; err == nil && s.Now.Kind == object.File && c != nil && c.Known {
				err = r.NotMovedBack(&c.After, s.Path) // an undo may have made this file for that one
			}
			if err != nil {
				s.refuse(err.Error())
				again = true
			}
		}
	}
}

var kindNames = map[object.Kind]string{object.File: "file", object.Dir: "directory", object.Link: "link", object.Other: "object"}

// NotMovedBack returns an error if an object has moved to a path, and this undo puts it back at none
// of its own. What others left meanwhile is not put back.
func (r *Review) NotMovedBack(st *object.State, path string) error {
	id := r.Origin.FileOf(st.ID)
	moved, foreign := r.Moved[id], cmp.Or(r.history.Foreign[st.ID], r.history.Foreign[id])
	switch {
	case st.Kind == object.None, len(moved) == 0 && (foreign == "" || foreign == path || r.stays(st.ID, foreign)):
		return nil
	case len(moved) == 0:
		return fmt.Errorf("it is the %s that others left at %s, and that the server only moved or linked", kindNames[st.Kind], foreign)
	}
	// One name that gets it back is enough.
	for _, path := range moved {
		if i, ok := r.Paths[path]; ok && i >= 0 && r.Steps[i].PutsBack() && r.Steps[i].Failed == "" {
			return nil
		}
	}
	return fmt.Errorf("it is the %s that stood at %s, which has to be put back first", kindNames[st.Kind], moved[0])
}

func (r *Review) stays(id object.ID, path string) bool {
	if i, ok := r.Paths[path]; ok && i >= 0 && r.Steps[i].Action != Attributes && r.Steps[i].Action != Refuse {
		return false
	}
	return r.isObject(id, path)
}

func (r *Review) decide(c *journal.Change, now object.State, err error) {
	want := r.withOwner(r.history.Before(c))
	if err == unix.ELOOP && (want.Kind == object.None || r.belowOwnLink(c.Path)) {
		now, err = object.State{Kind: object.None, Data: object.NoData}, nil // what the link leads to is not at this path
	}
	step := Step{Path: c.Path, Others: c.Others, Want: want, Now: now}
	r.Paths[c.Path] = -1
	switch closed := r.closedAbove(c.Path, err); {
	case closed != "":
		step.refuse("it cannot be looked at before the rights of " + closed + " are back: run undo again then")
	case err != nil:
		step.refuse("it cannot be reached: " + object.PathError(err))
	case !journal.Selected(c.Path, r.session.Head.Roots):
		step.refuse("it is outside of what the server could write")
	case want.Kind == object.File && want.Data == object.NoData && want.Lost == "" && r.history.Missing(c.Path) != "":
		step.refuse("its content was not kept, and it is not known that it is still the same: " + r.history.Missing(c.Path))
	case r.Matches(&want, &now, c.Path):
		if want.Kind == object.File && want.Nlink > 1 {
			r.Made[want.ID] = c.Path
		}
		if want.Kind != object.File || (want.Mode^now.Mode)&object.SetID == 0 {
			return
		}
		step.refuse(step.withoutSetID())
	default:
		why, foreign := r.Origin.BelongsToOthers(c, &now)
		step.Foreign = foreign
		if why != "" && !(foreign && slices.Contains(r.take, c.Path)) {
			step.refuse(why)
		} else {
			r.choose(&step)
		}
	}
	if step.Action == Restore && want.Kind == object.File && want.Mode&object.SetID != 0 {
		step.Partly = step.withoutSetID()
	}
	if step.Partly == "" && want.Masked != 0 && (step.Action == Restore || step.Action == Remake) && !r.Origin.Is(now.ID, want.ID) {
		step.Partly = "its access list was not kept, so it gives others no rights: if you know the list, setfacl sets it"
	}
	r.Paths[c.Path] = len(r.Steps)
	r.Steps = append(r.Steps, step)
}

// unmapped is the owner or group of which the jail does not see who it is.
const unmapped = 65534

// withOwner returns the state of a directory with the owner that the jail could not see. Only the
// owner can give a directory away, so it is the present one.
func (r *Review) withOwner(want object.State) object.State {
	if want.Kind != object.Dir || want.UID != unmapped && want.GID != unmapped {
		return want
	}
	now, err := object.LookPath(r.At[want.ID])
	if err != nil || now.ID != want.ID {
		return want
	}
	if want.UID == unmapped {
		want.UID = now.UID
	}
	if want.GID == unmapped {
		want.GID = now.GID
	}
	return want
}

// closedAbove returns the first directory of a path that its owner may not enter, if that is why
// the path could not be looked at, and if this undo gives that directory its rights back.
func (r *Review) closedAbove(path string, err error) string {
	if err != unix.EACCES {
		return ""
	}
	for _, s := range r.Steps { // directories come before what is in them
		if s.Action == Attributes && s.Now.Kind == object.Dir && s.Now.Mode&0o100 == 0 && journal.Selected(path, []string{s.Path}) {
			return s.Path
		}
	}
	return ""
}

func (s *Step) withoutSetID() string {
	return fmt.Sprintf("undo sets no set-user-ID and set-group-ID bits: if it is the file that you know, chmod %o does", s.Want.Mode)
}

func (s *Step) refuse(why string) { s.Action, s.Why = Refuse, why }

func (r *Review) belowOwnLink(path string) bool {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if c := r.changes[dir]; c != nil && c.Before.Kind != object.Link {
			if now, err := object.LookPath(dir); err == nil && now.Kind == object.Link && r.Origin.ChangedSince(c, &now) == "" {
				return true
			}
		}
	}
	return false
}
