package undo

// choose decides what to do with a path that may be changed.
func (r *Restorer) choose(step *Step) {
	want, now := &step.want, &step.now
	switch want.Kind {
	case None:
		step.Action = Remove
	case Dir:
		if step.Action = Remake; now.Kind == Dir {
			step.Action = Attributes
		}
	case Link:
		step.Action = Restore
	case Other:
		r.chooseOther(step)
	case File:
		r.chooseFile(step)
	}
}

func (r *Restorer) chooseFile(step *Step) {
	want, now := &step.want, &step.now
	kept := want.Data != NoData
	switch {
	case kept && now.Kind == File && (r.is(now.ID, want.ID) || want.Nlink < 2 && !r.isAnother(want, now)) && r.Session.sameContent(want, step.Path),
		!kept && want.Lost == "" && r.is(now.ID, want.ID) && !r.onlyStandsFor(want, now):
		step.Action = Attributes
	case want.Lost != "":
		step.refuse("its content was not kept: " + want.Lost)
	case r.chooseMoveBack(step):
	case kept:
		step.Action = Restore
	default:
		step.refuse("its content was not kept, since the server only moved it, and " + r.whereMoved(want))
	}
}

// chooseOther is for FIFOs, sockets and devices.
func (r *Restorer) chooseOther(step *Step) {
	switch {
	case r.is(step.now.ID, step.want.ID):
		step.Action = Attributes
	case !r.chooseMoveBack(step):
		step.refuse("it was a FIFO, a socket or a device, which undo does not make, and " + r.whereMoved(&step.want))
	}
}

// chooseMoveBack has a step move an object back that is elsewhere now. It returns false if the object
// is not found, or may not be moved.
func (r *Restorer) chooseMoveBack(step *Step) bool {
	want := &step.want
	is := func(path string) bool {
		return want.Kind != File || want.Data == NoData || r.Session.sameContent(want, path)
	}
	from, moved := r.at[want.ID]
	aside, isAside := r.aside[want.ID]
	switch temp := r.prepared(step); {
	case moved && from != step.Path && r.whyChanged(from) == "" && is(from):
		step.From = from
	case moved && want.Data == NoData:
		return false
	case temp != "" && is(temp):
	case isAside && is(aside):
		step.From = aside
	default:
		return false
	}
	step.Action = MoveBack
	return true
}

// whereMoved says why an object is not moved back.
func (r *Restorer) whereMoved(want *State) string {
	if from, ok := r.at[want.ID]; ok {
		if why := r.whyChanged(from); why != "" {
			return "it is " + from + " now, and " + why
		}
		return "it is " + from + " now, with another content"
	}
	return "it is at none of the places to which the server moved files"
}

// whyChanged returns why the server, or an undo, was not the last to change a path, or "".
func (r *Restorer) whyChanged(path string) string {
	c := r.changes[path]
	if c == nil {
		return "the server did not change that path"
	}
	now, err := lookPath(path)
	if err != nil {
		return "it cannot be reached: " + pathError(err)
	}
	return r.belongsToOthers(c, &now)
}

// matches reports whether the object at a path has the state that the step wants.
func (r *Restorer) matches(want, now *State, path string) bool {
	if !want.isRestored(now) {
		return false
	}
	switch {
	case want.Kind != File:
		return true
	case want.Lost != "":
		return want.sameObject(now)
	case want.Data == NoData:
		return r.is(now.ID, want.ID) && !r.onlyStandsFor(want, now)
	}
	return !r.isAnother(want, now) && r.Session.sameContent(want, path)
}

// isAnother reports whether an object is not the wanted one, but one that is to stand elsewhere, such
// as another file of the same content of which the server has made a hard link.
func (r *Restorer) isAnother(want, now *State) bool {
	return !r.is(now.ID, want.ID) && r.wanted[r.fileOf(now.ID)]
}
