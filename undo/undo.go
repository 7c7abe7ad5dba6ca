package undo

import (
	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"github.com/mcp-jail/mcp-jail/undo/internal/steps"
)

// What is at a path.
type (
	Kind  = object.Kind
	ID    = object.ID
	State = object.State
)

const (
	None, File, Dir, Link, Other = object.None, object.File, object.Dir, object.Link, object.Other

	NoData = object.NoData
)

// What is written, and read again.
type (
	Record    = journal.Record
	Gap       = journal.Gap
	Call      = journal.Call
	Head      = journal.Head
	Store     = journal.Store
	Writer    = journal.Writer
	Files     = journal.Files
	Session   = journal.Session
	Selection = journal.Selection
	History   = journal.History
	Change    = journal.Change
	Event     = journal.Event
	Operation = journal.Operation
)

const (
	Unchanged                       = journal.Unchanged
	Made, Changed, Removed, Renamed = journal.Made, journal.Changed, journal.Removed, journal.Renamed
)

// What an undo does.
type (
	Action  = steps.Action
	Step    = steps.Step
	Outcome = steps.Outcome
)

const (
	Restore, Remake, Remove      = steps.Restore, steps.Remake, steps.Remove
	MoveBack, Attributes, Refuse = steps.MoveBack, steps.Attributes, steps.Refuse
)

// Diff returns the difference of two texts in the unified format, or "" if there is none.
var Diff = journal.Diff

// Refused returns the steps that leave their path as it is.
func Refused(all []Step) []Step { return steps.Refused(all) }
