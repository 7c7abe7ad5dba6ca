package undo

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// errChanged is the error of a step whose path was changed between the plan and the step.
var errChanged = errors.New("it was changed a moment ago")

// Do carries out the steps. keeper keeps what they replace. Do can be interrupted at any moment,
// and repeated with a new plan.
//
// The order lets each step find what it needs. First come the rights to change directories, and
// missing directories, so that there is a place for files. A file that moves back, and has the name
// of such a directory, gets a temporary one. Then come links to objects that move back, beside their
// old names, so that none of them is lost when another takes its name. Then come files, and then
// removals, from the deepest path up. At the end come files that take the place of a directory, and
// attributes, from the deepest path up.
func (r *Restorer) Do(keeper *Keeper) []Outcome {
	r.keeper = keeper
	all := make([]*Step, 0, len(r.Steps))
	for i := range r.Steps {
		if r.Steps[i].Action != Refuse {
			all = append(all, &r.Steps[i])
		}
	}
	isDir := func(s *State) bool { return s.Kind == Dir }
	r.each(all, func(s *Step) bool { return isDir(&s.now) && s.now.Mode&0o300 != 0o300 }, r.unlockDir)
	r.each(all, func(s *Step) bool { return s.Action == Remake }, r.makeDir)
	r.each(all, r.isPutBack, r.prepare)
	r.clearAside()
	r.each(all, func(s *Step) bool { return r.putsFile(s) && !isDir(&s.now) }, r.putFile)
	deepest := slices.Clone(all)
	slices.Reverse(deepest)
	r.each(deepest, func(s *Step) bool { return s.Action == Remove }, r.remove)
	r.each(all, func(s *Step) bool { return r.putsFile(s) && isDir(&s.now) }, r.putFile)
	r.each(deepest, func(s *Step) bool { return s.Action == Attributes || s.Action == Remake }, r.attributes)
	r.leaveNoTemps(all)
	var out []Outcome
	for _, s := range all {
		o := Outcome{Step: *s}
		if why := r.done[s.Path]; why != "" {
			o.Err = errors.New(why)
		}
		out = append(out, o)
	}
	return out
}

func (r *Restorer) putsFile(s *Step) bool { return s.Action == Restore || s.Action == MoveBack }

// each runs a part of the work for the steps that it concerns and that have not failed.
func (r *Restorer) each(steps []*Step, concerns func(*Step) bool, do func(*Step, *place) error) {
	for _, s := range steps {
		if !concerns(s) || r.done[s.Path] != "" {
			continue
		}
		p, err := r.openPlace(s.Path)
		if err == nil {
			if err = do(s, p); err != nil {
				s.takeRight(p)
			}
			p.close()
		}
		if err != nil {
			r.done[s.Path] = pathError(err)
		}
	}
}

// keep keeps what stands at a place before it is replaced. It returns an error if that cannot be
// kept, or is not what the plan saw.
func (r *Restorer) keep(s *Step, p *place) error {
	now, err := look(p.dir, p.name)
	if err != nil {
		return err
	}
	if !r.isPlanned(s, &now) {
		return errChanged
	}
	if err := r.notMovedBack(&now, s.Path); err != nil {
		return err
	}
	r.keeper.lost = ""
	if now.Kind == File && now.Mode&0o400 == 0 { // its owner may give himself the right to read it
		r.keeper.Name(p.dir, p.name, s.Path, false)
		s.unread = now.ID
		p.onObject(func(name string, _ State) error { return unix.Fchmodat(unix.AT_FDCWD, name, now.Mode&^setID|0o400, 0) })
	}
	r.keeper.Name(p.dir, p.name, s.Path, true)
	if r.keeper.lost != "" {
		return fmt.Errorf("what stands there cannot be kept, so it is left: %s", r.keeper.lost)
	}
	s.kept, err = look(p.dir, p.name)
	if err != nil || !s.kept.sameButMode(&now) { // changed while it was copied
		return errChanged
	}
	r.own[now.ID] = true // also under its other names: it is about to lose this one
	return nil
}

// takeRight takes the right to read from a file to which keep gave it, and which stays.
func (s *Step) takeRight(p *place) {
	if s.unread == (ID{}) {
		return
	}
	p.onObject(func(name string, now State) error {
		if now.ID != s.unread {
			return nil
		}
		return unix.Fchmodat(unix.AT_FDCWD, name, now.Mode&^(setID|0o400), 0)
	})
}

// isPlanned reports whether the object at the path of a step is what the plan saw there, but for what
// this undo has done to it.
func (r *Restorer) isPlanned(s *Step, now *State) bool {
	return now.sameObject(&s.now) || now.ID == s.now.ID && now.Kind == s.now.Kind && r.own[now.ID]
}

// unlockDir gives the user the right to change a directory, which its present mode denies.
func (r *Restorer) unlockDir(s *Step, p *place) error {
	if err := r.keep(s, p); err != nil {
		return err
	}
	return p.onObject(func(name string, _ State) error {
		err := unix.Fchmodat(unix.AT_FDCWD, name, s.now.Mode|0o700, 0)
		if err == nil {
			s.now.Mode |= 0o700
		}
		return err
	})
}

// makeDir makes a directory again. Its mode follows when its contents are there.
func (r *Restorer) makeDir(s *Step, p *place) error {
	if err := r.keep(s, p); err != nil {
		return err
	}
	var err error
	switch {
	case s.now.Kind != None && len(r.moved[r.fileOf(s.now.ID)]) > 0:
		err = r.setAside(s, p)
	case s.now.Kind != None:
		err = unix.Unlinkat(p.dir, p.name, 0)
	}
	if err != nil {
		return err
	}
	if err := unix.Mkdirat(p.dir, p.name, 0o700); err != nil {
		r.takeBack(s, p)
		return err
	}
	return p.onObject(func(name string, now State) (err error) {
		if now.Kind == Dir && now.Mode&0o700 != 0o700 { // by the access list of the directory around it
			dropAccessLists(name)
			err = unix.Fchmodat(unix.AT_FDCWD, name, 0o700, 0)
		}
		if err == nil {
			r.keeper.StandsFor(now, s.Path, s.want.ID)
			s.now, err = look(p.dir, p.name)
		}
		return err
	})
}

// putFile puts a file or a symbolic link back in one step.
func (r *Restorer) putFile(s *Step, p *place) error {
	if err := r.keep(s, p); err != nil {
		return err
	}
	if s.linked {
		p.temp = s.temp
	} else {
		r.vacate(s, p)
		if err := r.fill(s, p); err != nil {
			if !errors.Is(err, unix.EEXIST) { // else the file with that name is another program's
				p.clear()
			}
			return err
		}
	}
	r.keeper.live()
	if err := s.replace(p); err != nil {
		if !s.linked {
			p.clear()
		}
		return err
	}
	if temp, err := look(p.dir, p.temp); err == nil && temp.Nlink > 1 {
		p.clear() // two names of one file: the rename did nothing
	}
	if s.want.Kind == File && s.want.Nlink > 1 {
		r.made[s.want.ID] = s.Path
	}
	if s.linked && s.want.Kind != Link {
		return r.setAttributes(s, p)
	}
	return nil
}

// fill makes the temporary file: a symbolic link, a hard link to a file that has the content
// already, or a new file.
func (r *Restorer) fill(s *Step, p *place) error {
	if s.want.Kind == Link {
		if err := unix.Symlinkat(s.want.Target, p.dir, p.temp); err != nil {
			return err
		}
		unix.Fchownat(p.dir, p.temp, int(s.want.UID), int(s.want.GID), unix.AT_SYMLINK_NOFOLLOW)
		if err := unix.UtimesNanoAt(p.dir, p.temp, s.want.times(), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		now, err := look(p.dir, p.temp)
		if err == nil {
			r.keeper.StandsFor(now, s.Path, s.want.ID)
		}
		return err
	}
	if other := r.sameFile(s); other != "" {
		from, err := openPlace(other)
		if err != nil {
			return err
		}
		defer from.close()
		r.keeper.Name(from.dir, from.name, other, false) // a new name changes the time of the inode
		return from.onObject(func(name string, now State) error {
			r.own[now.ID] = true
			return unix.Linkat(unix.AT_FDCWD, name, p.dir, p.temp, unix.AT_SYMLINK_FOLLOW)
		})
	}
	return r.writeFile(s, p)
}

// sameFile returns another path at which the wanted file already stands, or "". Only files with
// several names have one.
func (r *Restorer) sameFile(s *Step) string {
	if s.want.Nlink < 2 {
		return ""
	}
	if other, ok := r.made[s.want.ID]; ok && other != s.Path {
		return other
	}
	for _, name := range r.scan[s.want.ID] {
		now, err := lookPath(name)
		if name != s.Path && err == nil && r.is(now.ID, s.want.ID) && r.matches(&s.want, &now, name) {
			return name
		}
	}
	return ""
}

// remove removes what the server made.
func (r *Restorer) remove(s *Step, p *place) error {
	r.vacate(s, p)
	if s.now.Kind == Dir {
		now, err := look(p.dir, p.name)
		if err != nil || now.ID != s.now.ID {
			return errChanged
		}
		if err := r.notMovedBack(&now, s.Path); err != nil {
			return err
		}
		r.keeper.Name(p.dir, p.name, s.Path, false)
		if err := unix.Unlinkat(p.dir, p.name, unix.AT_REMOVEDIR); err == unix.ENOTEMPTY {
			return errors.New("it stays, because there is something in it that the server did not make or that was changed since")
		} else {
			return err
		}
	}
	if err := r.keep(s, p); err != nil {
		return err
	}
	return unix.Unlinkat(p.dir, p.name, 0)
}

// attributes puts back mode, owner and times.
func (r *Restorer) attributes(s *Step, p *place) error {
	if s.Action == Attributes {
		now, err := look(p.dir, p.name)
		if err != nil || !r.isPlanned(s, &now) {
			return errChanged
		}
		r.keeper.Name(p.dir, p.name, s.Path, false)
	}
	return r.setAttributes(s, p)
}

func (r *Restorer) setAttributes(s *Step, p *place) error {
	planned := func(id ID) bool { return id == s.now.ID }
	if s.linked {
		planned = func(id ID) bool { return r.is(id, s.want.ID) }
	}
	return p.onObject(func(name string, now State) error {
		if !planned(now.ID) || now.Kind != s.want.Kind {
			return errChanged // a server that still runs has put something else there
		}
		r.own[now.ID] = true
		if !r.is(now.ID, s.want.ID) {
			dropAccessLists(name)
			if now.Kind == File {
				r.keeper.StandsFor(now, s.Path, s.want.ID)
			}
		}
		if now.UID != s.want.UID || now.GID != s.want.GID {
			if err := unix.Fchownat(unix.AT_FDCWD, name, int(s.want.UID), int(s.want.GID), 0); err != nil {
				return fmt.Errorf("its owner cannot be put back: %w", err)
			}
		}
		if err := giveMode(name, s.want.modeFor(name), now); err != nil {
			return err
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, name, s.want.times(), 0)
	})
}

// giveMode gives an object a mode, if it has another one. It sets set-id bits of directories only: a
// server may have written the content of a file a moment ago.
func giveMode(name string, mode uint32, now State) error {
	if now.Kind != Dir {
		if mode == now.Mode {
			return nil
		}
		mode &^= setID
	}
	return unix.Fchmodat(unix.AT_FDCWD, name, mode, 0)
}

func (s *State) times() []unix.Timespec {
	return []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(s.Mtime)}
}
