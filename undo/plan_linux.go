package undo

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Restorer puts back what stood at paths before a session, or a call of it.
type Restorer struct {
	Session *Session
	Steps   []Step
	history *History
	changes map[string]*Change
	paths   map[string]int    // the index of a step, or -1 where nothing has to be done
	at      map[ID]string     // where an inode is now, of the paths of the history
	made    map[ID]string     // files with several names: one path where each is as it was
	moved   map[ID][]string   // objects that were moved: the paths that they are to have again
	aside   map[ID]string     // objects that moved to the path of a directory: their temporary names
	scan    map[ID][]string   // further names of files with several, below the roots
	wanted  map[ID]bool       // the objects that are to stand somewhere
	own     map[ID]bool       // inodes whose attributes this undo has changed
	done    map[string]string // what became of a path: "" or an error
	here    map[ID]bool       // the objects that stand at paths of the history
	stands  map[ID]ID         // the files that later undos have made, and those for which they stand
	later   []later           // the sessions after this one; nil: not looked for yet
	settled map[int][]byte    // of a session that was killed: what is still to be written to its journals
	touched map[string]bool   // the paths of the whole session; nil: not looked for yet
	keeper  *Keeper
}

// heartbeat is how long a session that was killed can have lived after its last sign.
const heartbeat = lastSweep + 200*time.Millisecond

// NewRestorer plans to undo a selection of what a session did. It changes nothing.
func NewRestorer(s *Session, sel Selection) (*Restorer, error) {
	r := &Restorer{Session: s, history: s.History(sel), changes: map[string]*Change{}, paths: map[string]int{}, at: map[ID]string{}, made: map[ID]string{}, moved: map[ID][]string{}, aside: map[ID]string{}, here: map[ID]bool{}, stands: map[ID]ID{}, wanted: map[ID]bool{}, own: map[ID]bool{}, done: map[string]string{}}
	if !s.Running && !s.Ended {
		r.settle()
	}
	for i := range r.history.Changes {
		r.wanted[r.history.before(&r.history.Changes[i]).ID] = true
	}
	r.findStands()
	nows := make([]State, len(r.history.Changes))
	errs := make([]error, len(r.history.Changes))
	for i := range r.history.Changes {
		path := r.history.Changes[i].Path
		r.changes[path] = &r.history.Changes[i]
		if nows[i], errs[i] = lookPath(path); errs[i] == nil && nows[i].Kind != None {
			r.here[nows[i].ID] = true
			id := r.fileOf(nows[i].ID)
			if r.at[id] == "" || r.history.before(&r.history.Changes[i]).ID != id { // rather where it moved
				r.at[id] = path
			}
		}
	}
	r.findAside()
	for i := range r.history.Changes {
		path, want := r.history.Changes[i].Path, r.history.before(&r.history.Changes[i])
		if r.isMoved(&want, &nows[i], path) {
			r.moved[want.ID] = append(r.moved[want.ID], path)
		}
	}
	for i := range r.history.Changes {
		c := &r.history.Changes[i]
		if selected(c.Path, sel.Paths) {
			r.plan(c, nows[i], errs[i])
		}
	}
	r.joinNames()
	r.refuseFixed()
	r.keepMoved()
	r.leftovers()
	r.otherNames(sel.Paths)
	return r, nil
}

// isMoved reports whether what is to stand at a path was moved away from there. A file that has
// another content since was not moved, but one that stands for it may have been.
func (r *Restorer) isMoved(want, now *State, path string) bool {
	kept := want.Kind == File && want.Data != NoData
	other := r.onlyStandsFor(want, now)
	switch {
	case want.Kind == None, want.Kind == Dir && now.Kind == Dir:
		return false
	case !other && (r.is(now.ID, want.ID) && !(kept && !r.Session.sameContent(want, path)) || r.matches(want, now, path)):
		return false
	case !kept:
		return true
	}
	from, ok := r.at[want.ID]
	if !ok {
		from, ok = r.aside[want.ID]
	}
	return ok && from != path && r.Session.sameContent(want, from)
}

// onlyStandsFor reports whether an undo has made a file for the wanted one, which is elsewhere and has
// what was not kept of it.
func (r *Restorer) onlyStandsFor(want, now *State) bool {
	return want.Kind == File && want.Data == NoData && now.ID != want.ID && r.here[want.ID]
}

// keepMoved refuses the steps that would remove an object that moved, if no other step puts it back.
// A refused step may be the one that would have moved another object.
func (r *Restorer) keepMoved() {
	for again := true; again; {
		again = false
		for i := range r.Steps {
			s := &r.Steps[i]
			if s.Action == Refuse || s.Action == Attributes {
				continue
			}
			err := r.notMovedBack(&s.now, s.Path)
			if c := r.changes[s.Path]; err == nil && s.now.Kind == File && c != nil && c.Known {
				err = r.notMovedBack(&c.After, s.Path) // an undo may have made this file for that one
			}
			if err != nil {
				s.refuse(err.Error())
				again = true
			}
		}
	}
}

var kindNames = map[Kind]string{File: "file", Dir: "directory", Link: "link", Other: "object"}

// notMovedBack returns an error if an object has moved to a path, and this undo puts it back at none
// of its own. What others left meanwhile is put back only if theirs is wanted, and then
// not what stood there first.
func (r *Restorer) notMovedBack(st *State, path string) error {
	id := r.fileOf(st.ID)
	moved, foreign := r.moved[id], cmp.Or(r.history.foreign[st.ID], r.history.foreign[id])
	switch {
	case st.Kind == None, len(moved) == 0 && (foreign == "" || foreign == path && !r.history.others || r.stays(st.ID, foreign)):
		return nil
	case len(moved) == 0:
		why := fmt.Errorf("it is the %s that others left at %s, and that the server only moved or linked", kindNames[st.Kind], foreign)
		if !r.history.others {
			why = fmt.Errorf("%w: --others puts it back", why)
		}
		return why
	}
	for _, path := range moved {
		if i, ok := r.paths[path]; ok && i >= 0 && r.Steps[i].putsBack() && r.done[path] == "" {
			return nil
		}
	}
	return fmt.Errorf("it is the %s that stood at %s, which has to be put back first", kindNames[st.Kind], moved[0])
}

// stays reports whether an object is at a path, and this undo leaves it there.
func (r *Restorer) stays(id ID, path string) bool {
	if i, ok := r.paths[path]; ok && i >= 0 && r.Steps[i].Action != Attributes && r.Steps[i].Action != Refuse {
		return false
	}
	return r.isObject(id, path)
}

// plan adds the step of a change, if there is anything to do.
func (r *Restorer) plan(c *Change, now State, err error) {
	want := r.withOwner(r.history.before(c))
	if err == unix.ELOOP && (want.Kind == None || r.belowOwnLink(c.Path)) {
		now, err = State{Kind: None, Data: NoData}, nil // what the link leads to is not at this path
	}
	step := Step{Path: c.Path, Others: c.Others, want: want, now: now}
	r.paths[c.Path] = -1
	switch closed := r.closedAbove(c.Path, err); {
	case closed != "":
		step.refuse("it cannot be looked at before the rights of " + closed + " are back: run undo again then")
	case err != nil:
		step.refuse("it cannot be reached: " + pathError(err))
	case !r.Session.within(c.Path):
		step.refuse("it is outside of what the server could write")
	case want.Kind == File && want.Data == NoData && want.Lost == "" && r.history.missing(c.Path) != "":
		step.refuse("its content was not kept, and it is not known that it is still the same: " + r.history.missing(c.Path))
	case r.matches(&want, &now, c.Path):
		if want.Kind == File && want.Nlink > 1 {
			r.made[want.ID] = c.Path
		}
		if want.Kind != File || (want.Mode^now.Mode)&setID == 0 {
			return
		}
		step.refuse(step.withoutSetID())
	default:
		if why := r.belongsToOthers(c, &now); why != "" {
			step.refuse(why)
		} else {
			r.choose(&step)
		}
	}
	if step.Action == Restore && want.Kind == File && want.Mode&setID != 0 {
		step.Partly = step.withoutSetID()
	}
	if step.Partly == "" && want.Masked != 0 && (step.Action == Restore || step.Action == Remake) && !r.is(now.ID, want.ID) {
		step.Partly = "its access list was not kept, so it gives others no rights: if you know the list, setfacl sets it"
	}
	r.paths[c.Path] = len(r.Steps)
	r.Steps = append(r.Steps, step)
}

// unmapped is the owner or group of which the jail does not see who it is.
const unmapped = 65534

// withOwner returns the state of a directory with the owner that the jail could not see. Only the
// owner can give a directory away, so it is the present one.
func (r *Restorer) withOwner(want State) State {
	if want.Kind != Dir || want.UID != unmapped && want.GID != unmapped {
		return want
	}
	now, err := lookPath(r.at[want.ID])
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
func (r *Restorer) closedAbove(path string, err error) string {
	if err != unix.EACCES {
		return ""
	}
	for _, s := range r.Steps { // directories stand before what is in them
		if s.Action == Attributes && s.now.Kind == Dir && s.now.Mode&0o100 == 0 && selected(path, []string{s.Path}) {
			return s.Path
		}
	}
	return ""
}

// belongsToOthers returns why what stands at a path must not be replaced, or "" if the server or an
// undo left it there.
func (r *Restorer) belongsToOthers(c *Change, now *State) string {
	if c.unsure && now.Kind != None {
		return "it is not known which call changed it last: " + whyDamaged
	}
	why := r.changedSince(c, now)
	made := c.Before.Kind == Dir && now.Kind == Dir && r.undoLeft(c.Path, now) // by an interrupted undo
	if why == "" || made || r.ownChange(c, now) || r.wasSeen(c, now) {
		return ""
	}
	switch id, known := r.laterChange(c, now); {
	case known && id == "":
		return ""
	case known:
		return "it was changed by a later session (" + id + "): undo that one first"
	}
	return why
}

// withoutSetID says that undo does not set the set-id bits of the wanted file.
func (s *Step) withoutSetID() string {
	return fmt.Sprintf("undo sets no set-user-ID and set-group-ID bits: if it is the file that you know, chmod %o does", s.want.Mode)
}

func (s *Step) refuse(why string) { s.Action, s.Why = Refuse, why }

// pathError explains why a path cannot be opened.
func pathError(err error) string {
	if err == unix.ELOOP {
		return "a directory of its path is a symbolic link now, which undo does not follow"
	}
	return err.Error()
}

// within reports whether a path is in one of the places that the server could write.
func (s *Session) within(path string) bool {
	return selected(path, s.Head.Roots) && filepath.IsAbs(path)
}

// changedSince returns why what stands at a path is not what the server left there, or "".
func (r *Restorer) changedSince(c *Change, now *State) string {
	switch {
	case now.Kind == None, r.history.isLeft(c, now):
		return "" // what was removed cannot be overwritten
	case c.Later != 0:
		return fmt.Sprintf("it was changed by a later call (%d): undo that one first", c.Later)
	case c.Known && r.leftByLater(now) != 0:
		return fmt.Sprintf("it was changed by a later call (%d), by another name: undo that one first", r.leftByLater(now))
	case c.Known && c.After.Kind == None:
		return "it was made after the server had removed it"
	case c.Known && now.Kind == File && now.sameButTime(&c.After):
		return "it may have been changed after the server's last change: its inode was, as by a write, a new name or an attribute"
	case c.Known:
		return "it was changed after the server's last change"
	case c.Running:
		return "the server has it open for writing: try again when the call has ended"
	case r.history.gap != "":
		return "it is not known what the server left there: " + r.history.gap
	case r.clockWasSetBack(c, now):
		return "it is not known when it was changed: the clock was set back"
	case now.Ctime <= c.Alive+int64(heartbeat):
		return ""
	}
	return "it was changed after the session was killed (at " + time.Unix(0, c.Alive).UTC().Format(time.DateTime) + " UTC)"
}

// leftByLater returns the call after the selected one that left a file like this, or 0.
func (r *Restorer) leftByLater(now *State) int {
	if l := r.history.after[now.ID]; l.is(now) {
		return l.call
	}
	return 0
}

// clockWasSetBack reports whether the clock shows a time from before the last sign of a session that
// was killed, or the inode of a file has one from before the session, though the session has not
// seen the file like that. The file may have been changed later.
func (r *Restorer) clockWasSetBack(c *Change, now *State) bool {
	if time.Now().UnixNano() < c.Alive-int64(heartbeat) {
		return true
	}
	seen, known := r.history.nodes[now.ID]
	return now.Kind == File && now.Ctime < r.Session.Started.UnixNano()-int64(heartbeat) && !(known && seen.sameObject(now))
}

// belowOwnLink reports whether a directory of a path is a symbolic link that the server made, and
// that the undo replaces.
func (r *Restorer) belowOwnLink(path string) bool {
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if c := r.changes[dir]; c != nil && c.Before.Kind != Link {
			if now, err := lookPath(dir); err == nil && now.Kind == Link && r.changedSince(c, &now) == "" {
				return true
			}
		}
	}
	return false
}

// wasSeen reports whether a path has what stood there at another moment of the session, and was
// kept: the undo of a later call has put it back. The file may have been kept by another name.
func (r *Restorer) wasSeen(c *Change, now *State) bool {
	seen := c.seen
	if c.Known && c.After.Kind == File && r.is(now.ID, c.After.ID) {
		seen = slices.Concat(seen, r.history.seen[c.After.ID])
	}
	return slices.ContainsFunc(seen, func(s State) bool {
		switch {
		case !s.isRestored(now):
			return false
		case s.Kind == File && s.Data == NoData:
			return r.is(now.ID, s.ID) && (now.sameObject(&s) || r.undoLeft(c.Path, now))
		}
		return s.Kind != File || r.Session.sameContent(&s, c.Path)
	})
}

// ownChange reports whether an interrupted undo has put back attributes of a file, or some of
// them: those of the state wanted at the path, or those that the file had first under another name.
func (r *Restorer) ownChange(c *Change, now *State) bool {
	if now.Kind != File || !c.Known || c.Later != 0 || !r.undoLeft(c.Path, now) {
		return false
	}
	want := r.history.before(c)
	if r.is(now.ID, want.ID) {
		left, ok := r.history.left[want.ID] // at the path from which the undo moved the file back
		if want.isRestored(now) || ok && now.between(&left.State, &want) {
			return true
		}
	}
	if !r.is(now.ID, c.After.ID) {
		return false
	}
	node, ok := r.history.nodes[c.After.ID]
	switch {
	case ok && node.isRestored(now):
		return true
	case want.Kind != File && ok:
		want = node
	case want.Kind != File: // it has no attributes that a file could get
		want = c.After
	}
	return now.between(&c.After, &want)
}

// between reports whether a file has the content that was left, and each attribute either as it was
// left or as it is wanted. Undo adds the right to read, and chown(2) removes the set-id bits.
func (s *State) between(left, want *State) bool {
	const read = 0o400
	return s.Size == left.Size && s.Mtime == left.Mtime &&
		(s.UID == left.UID || s.UID == want.UID) && (s.GID == left.GID || s.GID == want.GID) &&
		slices.Contains([]uint32{want.Mode, want.Mode &^ setID, want.modeAlone() &^ setID, left.Mode, left.Mode | read, left.Mode &^ setID}, s.Mode)
}
