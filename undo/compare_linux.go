package undo

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Restorer puts back what a selection of a session changed.
type Restorer struct {
	Steps   []Step
	session *Session
	sel     Selection
	// forbidden says why the policy of now does not let the server make or change a path, or "". What
	// undo puts back may be the server's work.
	forbidden func(path string) string
}

// NewRestorer compares what was there before, what the session left, and what is there now.
func NewRestorer(s *Session, sel Selection, forbidden func(path string) string) *Restorer {
	r := &Restorer{session: s, sel: sel, forbidden: forbidden}
	byUndos := r.leftByUndos()
	for _, c := range s.Changes(sel) {
		if step := r.step(c, byUndos[c.Path]); step.Action != "" {
			r.Steps = append(r.Steps, step)
		}
	}
	r.removeLeftovers()
	r.checkNames()
	return r
}

// removeLeftovers adds steps for the files beside their places that undos have left when they were killed. What a server
// has put under the name of one is not such a file.
func (r *Restorer) removeLeftovers() {
	all, _, _ := r.session.store.Sessions()
	ofServer := map[string]bool{}
	for _, s := range all {
		for _, c := range s.Changes(Selection{}) {
			ofServer[c.Path] = ofServer[c.Path] || s.Head.Undoes == ""
		}
	}
	for _, undo := range all {
		for _, c := range undo.Changes(Selection{}) {
			if undo.Head.Undoes == "" || undo.Running || c.Known || c.Before.Kind != none || ofServer[c.Path] || !strings.HasPrefix(filepath.Base(c.Path), tempPrefix) {
				continue
			}
			i := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Path == c.Path })
			if now, err := r.session.now(c.Path); err == nil && now.Kind != none && now.Kind != Dir {
				step := Step{Path: c.Path, Action: Clear, want: c.Before, now: now}
				if i < 0 {
					r.Steps = append(r.Steps, step)
				} else {
					r.Steps[i] = step
				}
			}
		}
	}
}

// left is what undos have left at a path.
type left struct {
	ids         map[id]bool // objects that they have put there
	last        *state      // what an undo of what is selected has left there last
	interrupted bool        // an undo of this session
}

func (r *Restorer) leftByUndos() map[string]*left {
	out := map[string]*left{}
	chain := map[string]bool{r.session.ID: true}
	all, _, _ := r.session.store.Sessions()     // one that cannot be read proves nothing
	for _, undo := range slices.Backward(all) { // the oldest first
		if undo.Head.Undoes == "" {
			continue
		}
		chain[undo.ID] = chain[undo.Head.Undoes]
		for _, c := range undo.Changes(Selection{}) {
			if out[c.Path] == nil {
				out[c.Path] = &left{ids: map[id]bool{}}
			}
			at := out[c.Path]
			if !c.Known {
				at.interrupted = at.interrupted || undo.Head.Undoes == r.session.ID && !undo.Ended
				continue
			}
			if c.Before.sameObject(&c.After) { // it was not changed
				continue
			}
			if at.ids[c.After.ID] = true; !chain[undo.ID] {
				continue
			}
			if at.last = &c.After; r.sel.Call != 0 && r.sel.Call != undo.Head.Call {
				at.last = nil // another call's, from which this one is not undone
			}
		}
	}
	return out
}

// step decides about a path. The Action of a path that is as it was before is "".
func (r *Restorer) step(c *Change, undone *left) Step {
	named := slices.Contains(r.sel.Take, c.Path)
	s := Step{Path: c.Path, Action: Restore, want: c.Before}
	if c.Others != nil && !named && !c.Before.sameContent(c.Others) {
		s.want, s.Others = *c.Others, true
	}
	now, err := r.session.now(c.Path)
	switch {
	case err != nil:
		return s.refuse("it cannot be looked at: " + err.Error())
	case !named && c.Others == nil && c.Known && c.Before.restored(&c.After) && c.Before.sameTime(&c.After):
		return Step{} // it was held open, or changed and put back
	case !s.want.restored(&now):
	case s.Others:
		s.Foreign = true
		return s.refuse("others have changed it between two calls, and it is as they left it")
	case s.want.sameTime(&now) || !r.isAsLeft(c, &now, undone):
		return Step{}
	}
	s.now = now
	if s.Foreign = !r.isAsLeft(c, &now, undone); s.Foreign && !named {
		return s.refuse(r.whyForeign(c, undone))
	}
	if s.want.Kind == none {
		s.Action = Remove
	}
	if why := r.cannotMake(&s); why != "" {
		s.Foreign = false
		return s.refuse(why)
	}
	if s.want.Kind == file && s.want.Mode&setID != 0 {
		s.Partly = "its set-user-ID and set-group-ID bits stay off"
	}
	return s
}

func (s Step) refuse(why string) Step {
	s.Action, s.Why = Refuse, why
	return s
}

// isAsLeft reports whether a path stands as it was noted last, and nobody else has changed it.
func (r *Restorer) isAsLeft(c *Change, now *state, undone *left) bool {
	if r.session.Damaged {
		return false
	}
	isOurs := func(noted *state) bool {
		return noted.sameContent(now) && (noted.Kind == none || noted.Kind == other || noted.ID == now.ID || undone != nil && undone.ids[now.ID])
	}
	if c.Known && isOurs(&c.After) {
		return true
	}
	return undone != nil && undone.last != nil && isOurs(undone.last)
}

func (r *Restorer) whyForeign(c *Change, undone *left) string {
	switch {
	case undone != nil && undone.interrupted:
		return "an undo was interrupted there, so it may be half of what was there before"
	case r.session.Damaged:
		return "what is stored of this session is damaged, so it is not known what the server left"
	case c.Known && c.Later:
		return "it was changed by a later call"
	case !c.Known && r.session.Running:
		return "a call is at work on it, or the server changed it outside of calls"
	case !r.session.Running && !r.session.Ended: // another process may have written after what was noted
		return "mcp-jail was killed before it was known what the server left"
	case !c.Known:
		return "the server changed it outside of calls, or in one that was not answered, so it is not known what it left"
	}
	return "it was changed after the server's last change"
}

// cannotMake says why undo does not make what is to stand at a path.
func (r *Restorer) cannotMake(s *Step) string {
	if why := r.forbidden(s.Path); why != "" && s.want.Kind != none {
		return why
	}
	switch want := &s.want; {
	case !r.granted(s.Path):
		return "it is where the server could not write"
	case want.Kind == other:
		return "it was a FIFO, a socket or a device, which undo does not make"
	case want.Kind == file && !want.Kept:
		return want.Lost
	case want.Kind == link && r.leadsOut(s.Path, string(want.Target)):
		return "it was a symbolic link out of what the server may write, to " + string(want.Target) + ", which undo does not make"
	}
	return ""
}

func (r *Restorer) leadsOut(path, target string) bool {
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return !r.granted(filepath.Clean(target))
}

// granted reports whether the server could write at a path.
func (r *Restorer) granted(path string) bool {
	return slices.ContainsFunc(r.session.Head.Roots, func(root string) bool { return within(path, root) })
}

// checkNames refuses steps that would change more than their path: a file with names that are not put
// back, and the place of an earlier version that does not come back.
func (r *Restorer) checkNames() {
	for again := true; again; { // what is refused does not come back either
		again = false
		stays := r.missing()
		for i := range r.Steps {
			s := &r.Steps[i]
			from := stays.movedTo(s)
			if from == nil || s.Action == Refuse {
				continue
			}
			switch {
			case !from.state.Kept:
				*s, again = s.refuse("it is what was "+from.path+", of which there is no copy: move it back yourself"), true
			case s.Action == Remove || !slices.Contains(r.sel.Take, s.Path):
				s.Foreign = s.Action == Restore
				*s, again = s.refuse("it has what was "+from.path+", which does not come back"), true
			}
		}
	}
	names := map[id]uint64{}
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Action != Refuse {
			names[s.now.ID]++
		}
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.inPlace() && s.Action == Restore && s.now.Nlink > names[s.now.ID] && !slices.Contains(r.sel.Take, s.Path) {
			s.Foreign = true
			*s = s.refuse(fmt.Sprintf("the file has %d names, and all of them would change", s.now.Nlink))
		}
	}
}

// version is a file as it was at a path before the server changed it.
type version struct {
	path  string
	state state
}

type versions []version

// missing returns the versions that do not come back: the steps refuse them or have failed, they are not
// selected, or others have put something else there. The server may have moved them.
func (r *Restorer) missing() (out versions) {
	steps := map[string]*Step{}
	for i := range r.Steps {
		steps[r.Steps[i].Path] = &r.Steps[i]
	}
	for _, c := range r.session.Changes(Selection{Call: r.sel.Call}) {
		if s := steps[c.Path]; s != nil {
			if s.Action == Restore && s.Err == nil && !s.Others && s.want.Kept {
				continue
			}
		} else if now, err := r.session.now(c.Path); err == nil && c.Before.restored(&now) {
			continue
		}
		if c.Before.Kind == file {
			out = append(out, version{c.Path, c.Before})
		}
	}
	return out
}

// movedTo returns the version of another path that a path has now: its file, or the same text in another one.
func (all versions) movedTo(s *Step) *version {
	now := &s.now
	for i := range all {
		was := &all[i].state
		if all[i].path != s.Path && now.Kind == file && (was.ID == now.ID || was.Size > 0 && was.Sum != nil && bytes.Equal(was.Sum, now.Sum)) {
			return &all[i]
		}
	}
	return nil
}

// inPlace reports whether the file that was at the path is still there, and gets its content back.
func (s *Step) inPlace() bool {
	return s.want.Kind == file && s.now.Kind == file && s.want.ID == s.now.ID
}
