package undo

// Kind is what stands at a path.
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

// State is what stood at a path at a moment.
type State struct {
	Kind         Kind
	Mode         uint32 // permission bits, with set-id bits
	UID, GID     uint32
	Size         int64
	Mtime, Ctime int64 // in nanoseconds since 1970
	ID           ID
	Nlink        uint64
	Target       string // of a Link
	// Data is where the content of a File lies in the data file of Jail, or NoData.
	Data int64
	Jail int
	Lost string // why the content was not kept though it was about to change
}

// NoData is the State.Data of a file whose content was not kept.
const NoData = -1

// sameObject reports whether two states are of one object that was not changed between them.
// A hard link or a rename changes nothing of it. A change of the content changes the time. Of a
// directory only its identity counts.
func (s *State) sameObject(o *State) bool {
	switch {
	case s.Kind != o.Kind:
		return false
	case s.Kind == None:
		return true
	case s.ID != o.ID:
		return false
	case s.Kind == Dir:
		return true
	}
	return s.Size == o.Size && s.Mtime == o.Mtime && s.Mode == o.Mode && s.UID == o.UID && s.GID == o.GID && s.Target == o.Target
}

// sameLook reports whether two states look the same. Their inodes may differ.
func (s *State) sameLook(o *State) bool {
	switch {
	case s.Kind != o.Kind:
		return false
	case s.Kind == None || s.Kind == Other:
		return true
	case s.Kind == Link:
		return s.Target == o.Target
	case s.Mode != o.Mode || s.UID != o.UID || s.GID != o.GID:
		return false
	}
	return s.Kind == Dir || s.Size == o.Size && s.Mtime == o.Mtime
}
