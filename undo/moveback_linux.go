package undo

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// setAside gives an object that is put back elsewhere a temporary name, because a directory is to
// have its name. The object may have stood in that directory, so prepare comes later.
func (r *Restorer) setAside(s *Step, p *place) error {
	r.vacate(s, p)
	err := unix.Renameat(p.dir, p.name, p.dir, p.temp)
	if err == nil {
		r.aside[r.fileOf(s.now.ID)] = p.tempOf(s.Path)
	}
	return err
}

// takeBack gives an object the name back that setAside has taken from it.
func (r *Restorer) takeBack(s *Step, p *place) {
	id := r.fileOf(s.now.ID)
	if r.aside[id] == p.tempOf(s.Path) && unix.Renameat2(p.dir, p.temp, p.dir, p.name, unix.RENAME_NOREPLACE) == nil {
		delete(r.aside, id)
	}
}

// clearAside removes the temporary names of setAside from the files that prepare has given others.
func (r *Restorer) clearAside() {
	prepared := func(path string) bool {
		i, ok := r.paths[path]
		return ok && (i < 0 || r.Steps[i].linked)
	}
	byPath := func(a, b ID) int { return strings.Compare(r.aside[a], r.aside[b]) }
	for _, id := range slices.SortedFunc(maps.Keys(r.aside), byPath) {
		p, err := openPlace(r.aside[id])
		if err != nil {
			continue
		}
		now, err := look(p.dir, p.name)
		if err == nil && r.is(now.ID, id) && now.Nlink > 1 && slices.ContainsFunc(r.moved[id], prepared) {
			unix.Unlinkat(p.dir, p.name, 0)
		}
		p.close()
	}
}

// isPutBack reports whether a step puts back an object that may be lost while others take its name.
// A link has no second name: another one is made.
func (r *Restorer) isPutBack(s *Step) bool {
	return s.Action == MoveBack || s.Action == Restore && s.want.Kind == Link && len(r.moved[s.want.ID]) > 0
}

// prepare gives an object that moves back a temporary name beside its old one.
func (r *Restorer) prepare(s *Step, p *place) error {
	if r.prepared(s) != "" {
		s.linked, s.temp = true, p.temp // of an undo that was interrupted
		r.keeper.Name(p.dir, p.temp, p.tempOf(s.Path), false)
		return nil
	}
	r.vacate(s, p)
	s.temp = p.temp
	if s.want.Kind == Link {
		err := r.fill(s, p)
		s.linked = err == nil
		return err
	}
	path := s.From
	if aside, ok := r.aside[s.want.ID]; ok {
		path = aside
	}
	from, err := openPlace(path)
	if err != nil {
		return err
	}
	defer from.close()
	if path == s.From {
		r.keeper.Name(from.dir, from.name, path, false) // before its attributes change
	}
	err = from.onObject(func(name string, now State) error {
		if !r.is(now.ID, s.want.ID) {
			return errChanged
		}
		r.own[now.ID] = true
		return unix.Linkat(unix.AT_FDCWD, name, p.dir, p.temp, unix.AT_SYMLINK_FOLLOW)
	})
	s.linked = err == nil
	return err
}

// leaveNoTemps removes the temporary names of objects that are where they are to be, or still where
// they were. Of the others, the error of the step says which name the object has.
func (r *Restorer) leaveNoTemps(steps []*Step) {
	for _, s := range steps {
		var temps []string
		failed := r.done[s.Path] != ""
		if s.linked && failed {
			temps = append(temps, filepath.Join(filepath.Dir(s.Path), s.temp))
		}
		if aside, ok := r.aside[s.want.ID]; ok && s.putsBack() {
			temps = append(temps, aside)
		}
		for i, temp := range temps {
			now, err := lookPath(temp)
			same := r.is(now.ID, s.want.ID) || s.want.Kind == Link && now.sameLook(&s.want) // made by prepare
			switch {
			case err != nil || !same:
			case (now.Kind == Link || now.Nlink > 1) && (!failed || r.isAt(s.want.ID, append(temps[i+1:], s.From, s.Path, r.at[s.want.ID]))):
				if p, err := openPlace(temp); err == nil {
					unix.Unlinkat(p.dir, p.name, 0)
					p.close()
				}
			case failed:
				r.done[s.Path] += "; until then what stood there is " + temp
			}
		}
	}
}

// isAt reports whether a file is at one of some paths.
func (r *Restorer) isAt(id ID, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		now, err := lookPath(path)
		return err == nil && r.is(now.ID, id)
	})
}

// leftovers adds steps that remove temporary names that an interrupted undo has left, of objects that
// are where they are to be.
func (r *Restorer) leftovers() {
	for id, path := range r.aside {
		now, err := lookPath(path)
		if err != nil || len(r.moved[id]) > 0 || now.Kind != Link && now.Nlink < 2 {
			continue
		}
		r.Steps = append(r.Steps, Step{Path: path, Action: Remove, want: State{Kind: None, Data: NoData}, now: now})
	}
	r.sortSteps()
}

// sortSteps puts the steps into the order of their paths.
func (r *Restorer) sortSteps() {
	slices.SortFunc(r.Steps, func(a, b Step) int { return strings.Compare(a.Path, b.Path) })
	for i := range r.Steps {
		r.paths[r.Steps[i].Path] = i
	}
}

// replace gives the temporary file of a step its name. What stands there has to be what was kept: to
// write the temporary file took a while.
func (s *Step) replace(p *place) error {
	now, err := look(p.dir, p.name)
	if err != nil || !now.sameObject(&s.kept) {
		return errChanged
	}
	if now.Kind == Dir {
		if err := unix.Unlinkat(p.dir, p.name, unix.AT_REMOVEDIR); err != nil { // something else is in it
			return fmt.Errorf("%w: move away what is in it, and run undo again", err)
		}
	}
	if now.Kind == None || now.Kind == Dir {
		err = unix.Renameat2(p.dir, p.temp, p.dir, p.name, unix.RENAME_NOREPLACE)
		if err == unix.EEXIST {
			return errChanged
		}
		if err != unix.EINVAL { // else the filesystem cannot do that
			return err
		}
	}
	return unix.Renameat(p.dir, p.temp, p.dir, p.name)
}
