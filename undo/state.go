package undo

import (
	"bytes"
	"errors"
	"slices"
)

// kind is what is at a path. That of a State that is not known is "".
type kind string

const (
	none  kind = "none"
	file  kind = "file"
	Dir   kind = "dir"
	link  kind = "link"  // a symbolic link
	other kind = "other" // a FIFO, a socket, a device
)

// id identifies an object beyond its names. Birth is 0 where the filesystem does not record it.
type id struct {
	Dev, Ino uint64
	Birth    int64
}

// state is what was at a path at a moment. Times are in nanoseconds since 1970.
type state struct {
	Kind         kind
	Mode         uint32 `json:",omitempty"` // permission bits, with set-id bits
	UID, GID     uint32 `json:",omitempty"`
	Size         int64  `json:",omitempty"`
	Mtime, Ctime int64  `json:",omitempty"`
	ID           id     `json:",omitzero"`
	Nlink        uint64 `json:",omitempty"`
	Target       []byte `json:",omitempty"` // of a Link
	ACL          bool   `json:",omitempty"` // it has an access list
	Sum          []byte `json:",omitempty"` // of the content of a File, if it was read
	Kept         bool   `json:",omitempty"` // the content lies at Data in the data file
	Data         int64  `json:",omitempty"`
	Lost         string `json:",omitempty"` // why the content was not kept
}

// setID are the bits of a mode that let a program run with the rights of its file's owner or group.
const setID = 0o6000

// sameObject reports whether two states are of one object with one stamp: nobody can set the time of
// change of an inode.
func (s *state) sameObject(o *state) bool {
	return s.Kind == o.Kind && s.ID == o.ID && s.Ctime == o.Ctime && s.Size == o.Size && s.Mtime == o.Mtime
}

// sameContent reports whether two states have the same to show: content, target, mode and owner. Times
// do not count: programs change them without meaning to.
func (s *state) sameContent(o *state) bool {
	switch {
	case s.Kind != o.Kind:
		return false
	case s.Kind == none, s.Kind == other:
		return true
	case s.Kind == link:
		return bytes.Equal(s.Target, o.Target)
	case s.Mode != o.Mode || !sameOwner(s.UID, o.UID) || !sameOwner(s.GID, o.GID):
		return false
	case s.Kind == Dir:
		return true
	case s.Sum == nil || o.Sum == nil:
		return s.sameObject(o)
	}
	return s.Size == o.Size && bytes.Equal(s.Sum, o.Sum)
}

// noOwner stands in a jail for all owners and groups but the user's own.
const noOwner = 65534

func sameOwner(a, b uint32) bool { return a == b || a == noOwner || b == noOwner }

// restored reports whether now has all that undo makes of s but for the time.
func (s *state) restored(now *state) bool {
	want := *s
	if now.Mode == s.modeToMake(s.ID == now.ID) {
		want.Mode = now.Mode
	}
	return want.sameContent(now)
}

func (s *state) sameTime(now *state) bool { return s.Kind != file || s.Mtime == now.Mtime }

// modeToMake is the mode that undo sets. No file gets a set-id bit: a server may have written it. What
// is made again without its access list gets no more than the rights of its owner, since the group's
// bits were the mask of the list. listed says that it has the list still.
func (s *state) modeToMake(listed bool) uint32 {
	mode := s.Mode
	if s.Kind == file {
		mode &^= setID
	}
	if s.ACL && !listed {
		mode &^= 0o077
	}
	return mode
}

// Action is what undo does to a path.
type Action string

const (
	Restore Action = "restore" // what was there comes back
	Remove  Action = "remove"  // nothing was there
	Clear   Action = "clear"   // an undo that was killed has left it
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
	want    state
	now     state
	begun   bool // Run has changed the path
}

// ErrHalf is the error of a step that ended in the middle of a file. Another undo completes it.
var ErrHalf = errors.New("is half restored; run it again")

// Those returns the steps that do one of these.
func Those(all []Step, actions ...Action) (out []Step) {
	for _, s := range all {
		if slices.Contains(actions, s.Action) {
			out = append(out, s)
		}
	}
	return out
}
