package object

import "testing"

// TestState compares the state of a file with one that differs in one thing.
func TestState(t *testing.T) {
	file := State{Kind: File, Mode: 0o640, UID: 1, GID: 2, Size: 3, Mtime: 4, Ctime: 5, ID: ID{Dev: 6, Ino: 7}, Nlink: 1, Data: NoData}
	for name, c := range map[string]struct {
		change                         func(*State)
		object, butTime, look, between bool
	}{
		"the same":      {func(*State) {}, true, true, true, true},
		"another inode": {func(s *State) { s.ID.Ino++ }, false, false, true, true},
		"another ctime": {func(s *State) { s.Ctime++ }, false, true, true, true},
		"another mode":  {func(s *State) { s.Mode = 0o600 }, false, false, false, false},
		"another owner": {func(s *State) { s.UID++ }, false, false, false, false},
		"another group": {func(s *State) { s.GID++ }, false, false, false, false},
		"another mtime": {func(s *State) { s.Mtime++ }, false, false, false, false},
		"another size":  {func(s *State) { s.Size++ }, false, false, false, false},
		"another kind":  {func(s *State) { s.Kind = Dir }, false, false, false, true},
		"another name":  {func(s *State) { s.Nlink++ }, true, true, true, true},
	} {
		now := file
		c.change(&now)
		if got := [4]bool{file.SameObject(&now), file.SameButTime(&now), file.SameLook(&now), now.Between(&file, &file)}; got != [4]bool{c.object, c.butTime, c.look, c.between} {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestBetween compares files with a state that was left and with one that is wanted: each attribute
// may be that of either, and the content and its time must be those that were left.
func TestBetween(t *testing.T) {
	left := State{Kind: File, Mode: 0o6250, UID: 1, GID: 2, Size: 3, Mtime: 4}
	want := State{Kind: File, Mode: 0o4640, UID: 5, GID: 6, Size: 7, Mtime: 8, Masked: hasList}
	for name, c := range map[string]struct {
		change  func(*State)
		between bool
	}{
		"as it was left":         {func(*State) {}, true},
		"the wanted owner":       {func(s *State) { s.UID = want.UID }, true},
		"another owner":          {func(s *State) { s.UID = want.GID }, false},
		"the wanted group":       {func(s *State) { s.GID = want.GID }, true},
		"another group":          {func(s *State) { s.GID = want.UID }, false},
		"the wanted size":        {func(s *State) { s.Size = want.Size }, false},
		"the wanted mtime":       {func(s *State) { s.Mtime = want.Mtime }, false},
		"readable":               {func(s *State) { s.Mode |= 0o400 }, true},
		"without set-id bits":    {func(s *State) { s.Mode = 0o250 }, true},
		"the wanted mode":        {func(s *State) { s.Mode = want.Mode }, true},
		"that, without set-id":   {func(s *State) { s.Mode = 0o640 }, true},
		"that, without its list": {func(s *State) { s.Mode = 0o600 }, true},
		"another mode":           {func(s *State) { s.Mode = 0o644 }, false},
	} {
		now := left
		c.change(&now)
		if got := now.Between(&left, &want); got != c.between {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestIsRestored tests what undo does not put back: set-id bits of a file, and rights of an access
// list. It puts those of a directory back.
func TestIsRestored(t *testing.T) {
	want := State{Kind: File, Mode: 0o4775, Masked: hasList | 0o4, Size: 1, Mtime: 2}
	for mode, restored := range map[uint32]bool{0o4775: true, 0o775: true, 0o745: true, 0o4745: true, 0o755: false, 0o700: false} {
		now := want
		now.Mode = mode
		if got := want.IsRestored(&now); got != restored {
			t.Errorf("mode %o: %v", mode, got)
		}
	}
	dir := State{Kind: Dir, Mode: 0o2775}
	for mode, restored := range map[uint32]bool{0o2775: true, 0o775: false} {
		now := dir
		now.Mode = mode
		if got := dir.IsRestored(&now); got != restored {
			t.Errorf("directory of mode %o: %v", mode, got)
		}
	}
}
