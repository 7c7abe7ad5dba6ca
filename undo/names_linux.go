package undo

// otherNames adds steps for further names (hard links) of files of which the undo puts back one
// name. These names still have the file that the server has changed.
func (r *Restorer) otherNames(paths []string) {
	wanted := map[ID]*Step{}
	for i := range r.Steps {
		if s := &r.Steps[i]; r.putsFile(s) && s.want.Kind == File && s.want.Data != NoData && s.want.Nlink > 1 {
			wanted[s.want.ID] = s
		}
	}
	for id, path := range r.made {
		if _, ok := wanted[id]; !ok {
			want := r.history.before(r.changes[path])
			wanted[id] = &Step{Path: path, want: want, now: want}
		}
	}
	if len(wanted) == 0 {
		return
	}
	r.finishedNames(wanted)
	r.scan = r.scanLinks(r.Session.Head.Roots, wanted)
	for id, names := range r.scan {
		for _, name := range names {
			now, err := lookPath(name)
			want := wanted[id].want
			if _, known := r.paths[name]; known || !selected(name, paths) || err != nil || !r.is(now.ID, id) || r.matches(&want, &now, name) {
				continue
			}
			if from := wanted[id].From; from != "" && r.isObject(now.ID, from) {
				continue // it gets back what it had with the name that moves back
			}
			step := Step{Path: name, Action: Restore, want: want, now: now}
			left, known := r.history.left[id]
			if !known || !r.stillLeft(left, &now) && !(now.between(&left.State, &want) && r.undoLeft(name, &now)) {
				step.refuse("it is another name of " + wanted[id].Path + ", and it is not known that the server changed it last")
			}
			if why := step.fixed(); step.Action != Refuse && why != "" {
				step.refuse(why)
			}
			r.paths[name] = len(r.Steps)
			r.Steps = append(r.Steps, step)
		}
	}
	r.sortSteps()
}

// isObject reports whether an object is at a path, and no other one that stands for it.
func (r *Restorer) isObject(id ID, path string) bool {
	now, err := lookPath(path)
	return err == nil && now.ID == id
}

// joinNames has files with several names restored from what was kept, and not moved back, where one
// of their names has another file with that content already: the others get that one.
func (r *Restorer) joinNames() {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Action == MoveBack && s.want.Data != NoData && s.want.Nlink > 1 && r.made[s.want.ID] != "" {
			s.Action, s.From = Restore, ""
		}
	}
}

// finishedNames adds to made the names that an undo which was killed has put back, and that this one
// leaves as they are. They do not lead to the file that the server changed any more, so scanLinks
// does not find them.
func (r *Restorer) finishedNames(wanted map[ID]*Step) {
	for _, l := range r.laterSessions() {
		if l.Head.Undoes != r.Session.ID {
			continue
		}
		for i := range l.history.Changes {
			c := &l.history.Changes[i]
			path := c.Path
			id := r.fileOf(c.Before.ID)
			step, planned := r.paths[path]
			if wanted[id] == nil || r.made[id] != "" || planned && step >= 0 {
				continue
			}
			if now, err := lookPath(path); err == nil && r.matches(&wanted[id].want, &now, path) {
				r.made[id] = path
			}
		}
	}
}
