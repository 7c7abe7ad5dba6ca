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
	None  = object.None
	File  = object.File
	Dir   = object.Dir
	Link  = object.Link
	Other = object.Other
)

const NoData = object.NoData

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
	Unchanged = journal.Unchanged
	Made      = journal.Made
	Changed   = journal.Changed
	Removed   = journal.Removed
	Renamed   = journal.Renamed
)

// What an undo does.
type (
	Action  = steps.Action
	Step    = steps.Step
	Outcome = steps.Outcome
)

const (
	Restore    = steps.Restore
	Remake     = steps.Remake
	Remove     = steps.Remove
	MoveBack   = steps.MoveBack
	Attributes = steps.Attributes
	Refuse     = steps.Refuse
)

// Diff returns the difference of two texts in the unified format, or "" if there is none.
var Diff = journal.Diff

// Refused returns the steps that leave their path as it is.
func Refused(all []Step) []Step { return steps.Refused(all) }
