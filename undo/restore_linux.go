package undo

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"github.com/mcp-jail/mcp-jail/undo/internal/origin"
	"github.com/mcp-jail/mcp-jail/undo/internal/steps"
	"golang.org/x/sys/unix"
)

// Restorer puts back what was at paths before a session, or a call of it.
type Restorer struct {
	Session *Session
	Steps   []Step
	review  *steps.Review
	origin  *origin.Finder
	work    map[string]*work // by path
	own     map[ID]bool      // inodes whose attributes this undo has changed
	keeper  *Keeper
}

// work is a step that is being carried out.
type work struct {
	*Step
	kept   State // what was there when that had been kept
	unread ID    // the file that was there, if keep gave its owner the right to read it
	temp   string
	linked bool // its temporary file is a link to the object that moves back
}

// NewRestorer decides how to undo a selection of what a session did. It changes nothing.
func NewRestorer(s *Session, sel Selection) (*Restorer, error) {
	review := steps.NewReview(s, sel)
	return &Restorer{Session: s, Steps: review.Steps, review: review, origin: review.Origin, own: map[ID]bool{}}, nil
}

// Do carries out the steps. keeper keeps what they replace. Do can be interrupted at any moment,
// and repeated with a new Restorer.
//
// The order lets each step find what it needs. First come the rights to change directories, and
// missing directories, so that there is a place for files. A file that moves back, and has the name
// of such a directory, gets a temporary one. Then come links to objects that move back, beside their
// old names, so that none of them is lost when another takes its name. Then come files, and then
// removals, from the deepest path up. At the end come files that take the place of a directory, and
// attributes, from the deepest path up.
func (r *Restorer) Do(keeper *Keeper) []Outcome {
	r.keeper = keeper
	r.review.Steps, r.work = r.Steps, map[string]*work{}
	all := make([]*work, 0, len(r.Steps))
	for i := range r.Steps {
		if s := (&work{Step: &r.Steps[i]}); s.Action != Refuse {
			all = append(all, s)
			r.work[s.Path] = s
		}
	}
	isDir := func(s *State) bool { return s.Kind == Dir }
	r.each(all, func(s *work) bool { return isDir(&s.Now) && s.Now.Mode&0o300 != 0o300 }, r.unlockDir)
	r.each(all, func(s *work) bool { return s.Action == Remake }, r.makeDir)
	r.each(all, r.isPutBack, r.prepare)
	r.clearAside()
	r.each(all, func(s *work) bool { return s.PutsFile() && !isDir(&s.Now) }, r.putFile)
	deepest := slices.Clone(all)
	slices.Reverse(deepest)
	r.each(deepest, func(s *work) bool { return s.Action == Remove }, r.remove)
	r.each(all, func(s *work) bool { return s.PutsFile() && isDir(&s.Now) }, r.putFile)
	r.each(deepest, func(s *work) bool { return s.Action == Attributes || s.Action == Remake }, r.attributes)
	r.leaveNoTemps(all)
	var out []Outcome
	for _, s := range all {
		o := Outcome{Step: *s.Step}
		if s.Failed != "" {
			o.Err = errors.New(s.Failed)
		}
		out = append(out, o)
	}
	return out
}

func (r *Restorer) each(steps []*work, concerns func(*work) bool, do func(*work, *object.Place) error) {
	for _, s := range steps {
		if !concerns(s) || s.Failed != "" {
			continue
		}
		p, err := r.review.OpenPlace(s.Path)
		if err == nil {
			if err = do(s, p); err != nil {
				s.takeRight(p)
			}
			p.Close()
		}
		if err != nil {
			s.Failed = object.PathError(err)
		}
	}
}

// keep keeps what is at a place before it is replaced. It returns an error if that cannot be
// kept, or is not what the review saw.
func (r *Restorer) keep(s *work, p *object.Place) error {
	now, err := object.Look(p.Dir, p.Name)
	if err != nil {
		return err
	}
	// It was changed since the decision.
	if !r.isAsSeen(s, &now) {
		return object.ErrChanged
	}
	if err := r.review.NotMovedBack(&now, s.Path); err != nil {
		return err
	}
	r.keeper.TakeLost()
	if now.Kind == File && now.Mode&0o400 == 0 { // its owner may give himself the right to read it
		r.keeper.Name(p.Dir, p.Name, s.Path, false)
		s.unread = now.ID
		p.OnObject(func(name string, _ State) error {
			return unix.Fchmodat(unix.AT_FDCWD, name, now.Mode&^object.SetID|0o400, 0)
		})
	}
	r.keeper.Name(p.Dir, p.Name, s.Path, true)
	if lost := r.keeper.TakeLost(); lost != "" {
		return fmt.Errorf("what stands there cannot be kept, so it is left: %s", lost)
	}
	s.kept, err = object.Look(p.Dir, p.Name)
	if err != nil || !s.kept.SameButMode(&now) { // changed while it was copied
		return object.ErrChanged
	}
	r.own[now.ID] = true // also under its other names: it is about to lose this one
	return nil
}

// takeRight takes the right to read from a file to which keep gave it, and which stays.
func (s *work) takeRight(p *object.Place) {
	if s.unread == (ID{}) {
		return
	}
	p.OnObject(func(name string, now State) error {
		if now.ID != s.unread {
			return nil
		}
		return unix.Fchmodat(unix.AT_FDCWD, name, now.Mode&^(object.SetID|0o400), 0)
	})
}

// isAsSeen reports whether the object at the path of a step is what the review saw there, but for what
// this undo has done to it.
func (r *Restorer) isAsSeen(s *work, now *State) bool {
	return now.SameObject(&s.Now) || now.ID == s.Now.ID && now.Kind == s.Now.Kind && r.own[now.ID]
}

func (r *Restorer) unlockDir(s *work, p *object.Place) error {
	if err := r.keep(s, p); err != nil {
		return err
	}
	return p.OnObject(func(name string, _ State) error {
		err := unix.Fchmodat(unix.AT_FDCWD, name, s.Now.Mode|0o700, 0)
		if err == nil {
			s.Now.Mode |= 0o700
		}
		return err
	})
}

// makeDir makes a directory again. Its mode follows when its contents are there.
func (r *Restorer) makeDir(s *work, p *object.Place) error {
	if err := r.keep(s, p); err != nil {
		return err
	}
	var err error
	switch {
	case s.Now.Kind != None && len(r.review.Moved[r.origin.FileOf(s.Now.ID)]) > 0:
		err = r.setAside(s, p)
	case s.Now.Kind != None:
		err = unix.Unlinkat(p.Dir, p.Name, 0)
	}
	if err != nil {
		return err
	}
	if err := unix.Mkdirat(p.Dir, p.Name, 0o700); err != nil {
		r.takeBack(s, p)
		return err
	}
	return p.OnObject(func(name string, now State) (err error) {
		if now.Kind == Dir && now.Mode&0o700 != 0o700 { // by the access list of the directory around it
			object.DropAccessLists(name)
			err = unix.Fchmodat(unix.AT_FDCWD, name, 0o700, 0)
		}
		if err == nil {
			r.keeper.StandsFor(now, s.Path, s.Want.ID)
			s.Now, err = object.Look(p.Dir, p.Name)
		}
		return err
	})
}

func (r *Restorer) putFile(s *work, p *object.Place) error {
	if err := r.keep(s, p); err != nil {
		return err
	}
	if s.linked {
		p.Temp = s.temp
	} else {
		r.vacate(s, p)
		if err := r.fill(s, p); err != nil {
			if !errors.Is(err, unix.EEXIST) { // else the file with that name is another program's
				p.Clear()
			}
			return err
		}
	}
	r.keeper.Live()
	if err := s.replace(p); err != nil {
		if !s.linked {
			p.Clear()
		}
		return err
	}
	// rename(2) does nothing if both names are of one file.
	if temp, err := object.Look(p.Dir, p.Temp); err == nil && temp.Nlink > 1 {
		p.Clear() // two names of one file: the rename did nothing
	}
	// The next name of this file becomes a link to it.
	if s.Want.Kind == File && s.Want.Nlink > 1 {
		r.review.Made[s.Want.ID] = s.Path
	}
	if s.linked && s.Want.Kind != Link {
		return r.setAttributes(s, p)
	}
	return nil
}

// fill makes the temporary file: a symbolic link, a hard link to a file that has the content
// already, or a new file.
func (r *Restorer) fill(s *work, p *object.Place) error {
	if s.Want.Kind == Link {
		if err := unix.Symlinkat(s.Want.Target, p.Dir, p.Temp); err != nil {
			return err
		}
		unix.Fchownat(p.Dir, p.Temp, int(s.Want.UID), int(s.Want.GID), unix.AT_SYMLINK_NOFOLLOW)
		if err := unix.UtimesNanoAt(p.Dir, p.Temp, timesOf(&s.Want), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		now, err := object.Look(p.Dir, p.Temp)
		if err == nil {
			r.keeper.StandsFor(now, s.Path, s.Want.ID)
		}
		return err
	}
	if other := r.sameFile(s); other != "" {
		from, err := object.OpenPlace(other)
		if err != nil {
			return err
		}
		defer from.Close()
		r.keeper.Name(from.Dir, from.Name, other, false) // a new name changes the time of the inode
		return from.OnObject(func(name string, now State) error {
			r.own[now.ID] = true
			return unix.Linkat(unix.AT_FDCWD, name, p.Dir, p.Temp, unix.AT_SYMLINK_FOLLOW)
		})
	}
	return r.writeFile(s, p)
}

// sameFile returns another path at which the wanted file already is, or "". Only files with
// several names have one.
func (r *Restorer) sameFile(s *work) string {
	if s.Want.Nlink < 2 {
		return ""
	}
	if other, ok := r.review.Made[s.Want.ID]; ok && other != s.Path {
		return other
	}
	for _, name := range r.review.Scan[s.Want.ID] {
		now, err := object.LookPath(name)
		if name != s.Path && err == nil && r.origin.Is(now.ID, s.Want.ID) && r.review.Matches(&s.Want, &now, name) {
			return name
		}
	}
	return ""
}

func (r *Restorer) remove(s *work, p *object.Place) error {
	r.vacate(s, p)
	if s.Now.Kind == Dir {
		now, err := object.Look(p.Dir, p.Name)
		if err != nil || now.ID != s.Now.ID {
			return object.ErrChanged
		}
		if err := r.review.NotMovedBack(&now, s.Path); err != nil {
			return err
		}
		r.keeper.Name(p.Dir, p.Name, s.Path, false)
		if err := unix.Unlinkat(p.Dir, p.Name, unix.AT_REMOVEDIR); err == unix.ENOTEMPTY {
			return errors.New("it stays, because there is something in it that the server did not make or that was changed since")
		} else {
			return err
		}
	}
	if err := r.keep(s, p); err != nil {
		return err
	}
	return unix.Unlinkat(p.Dir, p.Name, 0)
}

func (r *Restorer) attributes(s *work, p *object.Place) error {
	if s.Action == Attributes {
		now, err := object.Look(p.Dir, p.Name)
		if err != nil || !r.isAsSeen(s, &now) {
			return object.ErrChanged
		}
		r.keeper.Name(p.Dir, p.Name, s.Path, false)
	}
	return r.setAttributes(s, p)
}

func (r *Restorer) setAttributes(s *work, p *object.Place) error {
	expected := func(id ID) bool { return id == s.Now.ID }
	if s.linked {
		expected = func(id ID) bool { return r.origin.Is(id, s.Want.ID) }
	}
	return p.OnObject(func(name string, now State) error {
		if !expected(now.ID) || now.Kind != s.Want.Kind {
			return object.ErrChanged // a server that still runs has put something else there
		}
		r.own[now.ID] = true
		if !r.origin.Is(now.ID, s.Want.ID) {
			object.DropAccessLists(name)
			if now.Kind == File {
				r.keeper.StandsFor(now, s.Path, s.Want.ID)
			}
		}
		// The owner comes before the mode: chown(2) takes set-id bits away.
		if now.UID != s.Want.UID || now.GID != s.Want.GID {
			if err := unix.Fchownat(unix.AT_FDCWD, name, int(s.Want.UID), int(s.Want.GID), 0); err != nil {
				return fmt.Errorf("its owner cannot be put back: %w", err)
			}
		}
		if err := giveMode(name, s.Want.ModeFor(name), now); err != nil {
			return err
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, name, timesOf(&s.Want), 0)
	})
}

// giveMode gives an object a mode, if it has another one. It sets set-id bits of directories only: a
// server may have written the content of a file a moment ago.
func giveMode(name string, mode uint32, now State) error {
	if now.Kind != Dir {
		if mode == now.Mode {
			return nil
		}
		mode &^= object.SetID
	}
	return unix.Fchmodat(unix.AT_FDCWD, name, mode, 0)
}

func timesOf(s *State) []unix.Timespec {
	return []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(s.Mtime)}
}

// Run carries out the steps. It keeps what they replace in a session of its own in the store, so
// the undo can be undone. It returns the name of that session, or "" if nothing was changed.
func (r *Restorer) Run(store Store) (out []Outcome, session string, err error) {
	if err := r.origin.WriteSettled(); err != nil {
		return nil, "", err
	}
	writer, err := store.Begin(Head{Server: r.Session.Head.Server, Undoes: r.Session.ID})
	if err != nil {
		return nil, "", err
	}
	defer writer.Close()
	files, err := writer.Jail(r.Session.Head.Roots)
	if err != nil {
		return nil, "", err
	}
	self, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		files.Finish()
		return nil, "", err
	}
	defer unix.Close(self)
	out = r.Do(&Keeper{Journal: int(files.Journal.Fd()), Data: int(files.Data.Fd()), SelfFD: self, FileBytes: math.MaxInt64 / 4, TotalBytes: math.MaxInt64 / 2})
	if files.Finish() {
		session = writer.ID()
	}
	return out, session, nil
}
