package object

import "slices"

// Kind is what is at a path.
type Kind byte

// Kinds. The Kind of a State that is not known is 0.
const (
	None  Kind = 'n'
	File  Kind = 'f'
	Dir   Kind = 'd'
	Link  Kind = 'l' // a symbolic link
	Other Kind = 'o' // a FIFO, a socket, a device
)

// ID identifies an object beyond its names. Birth is in nanoseconds since 1970, and 0 where the
// filesystem does not record it.
type ID struct {
	Dev, Ino uint64
	Birth    int64
}

// State is what was at a path at a moment.
type State struct {
	Kind         Kind
	Mode         uint32 // permission bits, with set-id bits
	UID, GID     uint32
	Size         int64
	Mtime, Ctime int64 // in nanoseconds since 1970
	ID           ID
	Nlink        uint64
	Target       string // of a Link
	// Masked is not 0 if an access list has the group's bits of Mode for its mask: then it is
	// hasList, and the rights that the list gives the owner's group.
	Masked uint32
	// Data is where the content of a File lies in the data file of Jail, or NoData.
	Data int64
	Jail int
	Lost string // why the content was not kept though it was about to change
}

// NoData is the State.Data of a file whose content was not kept.
const NoData = -1

// SetID are the bits of a mode that let a program run with the rights of its file's owner or group.
const SetID = 0o6000

const hasList = 0o10

// modeAlone is the mode of an object that is to have no access list: its group gets no more rights
// than the list gave it.
func (s *State) modeAlone() uint32 {
	if s.Masked == 0 {
		return s.Mode
	}
	return s.Mode &^ (^s.Masked & 0o7 << 3)
}

// SameObject reports whether two states are of one object that was not changed between them. For a
// file, the time of its inode decides: a process can set the size and the other times, but not that
// one. A hard link or a rename changes it too, so this can be false though the content is the same.
// Of a directory only its identity counts, and of a symbolic link only its look: it has nothing else.
func (s *State) SameObject(o *State) bool {
	switch {
	case s.Kind != File:
		return s.SameButTime(o)
	case s.Ctime == 0: // not on record
		return false
	}
	return s.Ctime == o.Ctime && s.SameButTime(o)
}

// SameButTime is sameObject without the time of the inode. Where a process may have set the other
// times, it proves nothing of a file.
func (s *State) SameButTime(o *State) bool {
	switch {
	case s.Kind != o.Kind:
		return false
	case s.Kind == None:
		return true
	case s.Kind == Link:
		return s.SameLook(o) && s.UID == o.UID && s.GID == o.GID
	case s.ID != o.ID:
		return false
	case s.Kind == Dir:
		return true
	}
	return s.Size == o.Size && s.Mtime == o.Mtime && s.Mode == o.Mode && s.UID == o.UID && s.GID == o.GID
}

// SameButMode reports whether two states are of one object with one content. Undo may have given its
// owner the right to read it between them.
func (s *State) SameButMode(o *State) bool {
	mode := *s
	mode.Mode = o.Mode
	return mode.SameButTime(o) && (s.Mode != o.Mode || s.SameObject(o))
}

// SameLook reports whether two states look the same. Their inodes may differ.
func (s *State) SameLook(o *State) bool {
	switch {
	case s.Kind != o.Kind:
		return false
	case s.Kind == None:
		return true
	case s.Kind == Link:
		return s.Target == o.Target && s.Mtime == o.Mtime
	case s.Mode != o.Mode || s.UID != o.UID || s.GID != o.GID:
		return false
	}
	if s.Kind == Other { // it cannot be made again, so another one is not the same
		return s.ID == o.ID
	}
	return s.Kind == Dir || s.Size == o.Size && s.Mtime == o.Mtime
}

// IsRestored reports whether now looks as undo leaves a path where s is to stand. Undo sets no
// set-id bits of a file.
func (s *State) IsRestored(now *State) bool {
	want := *s
	if s.Kind == File && now.Mode&SetID == 0 {
		want.Mode &^= SetID
	}
	if alone := want.modeAlone(); now.Mode == alone {
		want.Mode = alone
	}
	return want.SameLook(now)
}

// Between reports whether a file has the content that was left, and each attribute either as it was
// left or as it is wanted. Undo adds the right to read, and chown(2) removes the set-id bits.
func (s *State) Between(left, want *State) bool {
	const read = 0o400
	return s.Size == left.Size && s.Mtime == left.Mtime &&
		(s.UID == left.UID || s.UID == want.UID) && (s.GID == left.GID || s.GID == want.GID) &&
		slices.Contains([]uint32{want.Mode, want.Mode &^ SetID, want.modeAlone() &^ SetID, left.Mode, left.Mode | read, left.Mode &^ SetID}, s.Mode)
}

// IsOpened reports whether the server was about to change the content of a file, or to remove it.
func (s *State) IsOpened() bool {
	return s.Kind == File && (s.Data != NoData || s.Lost != "")
}
