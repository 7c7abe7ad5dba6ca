package steps

import (
	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// otherNames adds steps for further names (hard links) of files of which the undo puts back one
// name. These names still have the file that the server has changed.
func (r *Review) otherNames(paths []string) {
	wanted := map[object.ID]*Step{}
	for i := range r.Steps {
		if s := &r.Steps[i]; s.PutsFile() && s.Want.Kind == object.File && s.Want.Data != object.NoData && s.Want.Nlink > 1 {
			wanted[s.Want.ID] = s
		}
	}
	// Files that are as they were already can have names that still lead to the changed one.
	for id, path := range r.Made {
		if _, ok := wanted[id]; !ok {
			want := r.history.Before(r.changes[path])
			wanted[id] = &Step{Path: path, Want: want, Now: want}
		}
	}
	if len(wanted) == 0 {
		return
	}
	r.finishedNames(wanted)
	r.Scan = r.scanLinks(r.session.Head.Roots, wanted)
	for id, names := range r.Scan {
		for _, name := range names {
			now, err := object.LookPath(name)
			want := wanted[id].Want
			if _, known := r.Paths[name]; known || !journal.Selected(name, paths) || err != nil || !r.Origin.Is(now.ID, id) || r.Matches(&want, &now, name) {
				continue
			}
			if from := wanted[id].From; from != "" && r.isObject(now.ID, from) {
				continue // it gets back what it had with the name that moves back
			}
			step := Step{Path: name, Action: Restore, Want: want, Now: now}
			left, known := r.history.Left[id]
			if !known || !r.Origin.StillLeft(left, &now) && !(now.Between(&left.State, &want) && r.Origin.UndoLeft(name, &now)) {
				step.refuse("it is another name of " + wanted[id].Path + ", and it is not known that the server changed it last")
			}
			if why := step.fixed(); step.Action != Refuse && why != "" {
				step.refuse(why)
			}
			r.Paths[name] = len(r.Steps)
			r.Steps = append(r.Steps, step)
		}
	}
	r.sortSteps()
}

// isObject reports whether an object is at a path, and no other one that stands for it.
func (r *Review) isObject(id object.ID, path string) bool {
	now, err := object.LookPath(path)
	return err == nil && now.ID == id
}

// joinNames has files with several names restored from what was kept, and not moved back, where one
// of their names has another file with that content already: the others get that one.
func (r *Review) joinNames() {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Action == MoveBack && s.Want.Data != object.NoData && s.Want.Nlink > 1 && r.Made[s.Want.ID] != "" {
			s.Action, s.From = Restore, ""
		}
	}
}

// finishedNames adds to made the names that an undo which was killed has put back, and that this one
// leaves as they are. They do not lead to the file that the server changed any more, so scanLinks
// does not find them.
func (r *Review) finishedNames(wanted map[object.ID]*Step) {
	for _, undo := range r.Origin.Undos() {
		for i := range undo.Changes {
			c := &undo.Changes[i]
			path := c.Path
			id := r.Origin.FileOf(c.Before.ID)
			step, known := r.Paths[path]
			if wanted[id] == nil || r.Made[id] != "" || known && step >= 0 {
				continue
			}
			if now, err := object.LookPath(path); err == nil && r.Matches(&wanted[id].Want, &now, path) {
				r.Made[id] = path
			}
		}
	}
}
