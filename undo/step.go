package undo

// Action is what undo does to a path.
type Action string

const (
	Restore Action = "restore" // what was there comes back
	Remove  Action = "remove"  // nothing was there
	Refuse  Action = "leave"   // it stays as it is
)

// Step is what undo does to a path, and why if that is not what the user asked for.
type Step struct {
	Path    string
	Action  Action
	Why     string // of Refuse
	Foreign bool   // others have changed the path: it is put back only if the user names it
	Others  bool   // it gets what others had left there between two calls
	Partly  string // what does not come back
	Err     error  // why Run left the path as it was, although it was to change
	want    State
	now     State
}

// Refused returns the steps that leave their path as it is.
func Refused(all []Step) (out []Step) {
	for _, s := range all {
		if s.Action == Refuse {
			out = append(out, s)
		}
	}
	return out
}
