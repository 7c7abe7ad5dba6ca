package steps

import "github.com/mcp-jail/mcp-jail/undo/internal/object"

// Action is what a restore does with a path.
type Action string

const (
	Restore    Action = "restore"    // put back what was there
	Remake     Action = "make"       // make a directory again
	Remove     Action = "remove"     // remove what the server made
	MoveBack   Action = "move back"  // give a file its name back
	Attributes Action = "attributes" // put back mode, owner and times
	Refuse     Action = "refuse"     // leave it
)

// Step is what a restore does with one path.
type Step struct {
	Path   string
	Action Action
	From   string // of MoveBack: where it is now
	Why    string // of Refuse
	Partly string // what the step does not put back, with the reason
	Others bool   // others changed it between two changes of the server
	// Foreign: others changed it after the server. Without Refuse the user has named it, and it is replaced.
	Foreign bool

	Want   object.State // what is to be there
	Now    object.State // what is there
	Failed string       // why it could not be carried out
}

// PutsBack reports whether a step puts an object where it was.
func (s *Step) PutsBack() bool {
	return s.Action == MoveBack || s.Action == Restore || s.Action == Remake
}

// PutsFile reports whether a step puts back an object that is not a directory.
func (s *Step) PutsFile() bool { return s.Action == Restore || s.Action == MoveBack }

// Outcome is what became of a step.
type Outcome struct {
	Step
	Err error // nil: it was done
}

// Refused returns the steps that leave their path as it is.
func Refused(steps []Step) (out []Step) {
	for _, s := range steps {
		if s.Action == Refuse {
			out = append(out, s)
		}
	}
	return out
}
