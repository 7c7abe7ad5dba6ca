package undo

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// setAside gives an object that is put back elsewhere a temporary name, because a directory is to
// have its name. The object may have been in that directory, so prepare comes later.
func (r *Restorer) setAside(s *work, p *object.Place) error {
	r.vacate(s, p)
	err := unix.Renameat(p.Dir, p.Name, p.Dir, p.Temp)
	if err == nil {
		r.review.Aside[r.origin.FileOf(s.Now.ID)] = p.TempOf(s.Path)
	}
	return err
}

func (r *Restorer) takeBack(s *work, p *object.Place) {
	id := r.origin.FileOf(s.Now.ID)
	if r.review.Aside[id] == p.TempOf(s.Path) && unix.Renameat2(p.Dir, p.Temp, p.Dir, p.Name, unix.RENAME_NOREPLACE) == nil {
		delete(r.review.Aside, id)
	}
}

// clearAside removes the temporary names of setAside from the files that prepare has given others.
func (r *Restorer) clearAside() {
	prepared := func(path string) bool {
		i, ok := r.review.Paths[path]
		return ok && (i < 0 || r.work[path] != nil && r.work[path].linked)
	}
	byPath := func(a, b ID) int { return strings.Compare(r.review.Aside[a], r.review.Aside[b]) }
	for _, id := range slices.SortedFunc(maps.Keys(r.review.Aside), byPath) {
		p, err := object.OpenPlace(r.review.Aside[id])
		if err != nil {
			continue
		}
		now, err := object.Look(p.Dir, p.Name)
		if err == nil && r.origin.Is(now.ID, id) && now.Nlink > 1 && slices.ContainsFunc(r.review.Moved[id], prepared) {
			unix.Unlinkat(p.Dir, p.Name, 0)
		}
		p.Close()
	}
}

// isPutBack reports whether a step puts back an object that may be lost while others take its name.
// A link has no second name: another one is made.
func (r *Restorer) isPutBack(s *work) bool {
	return s.Action == MoveBack || s.Action == Restore && s.Want.Kind == Link && len(r.review.Moved[s.Want.ID]) > 0
}

// prepare gives an object that moves back a temporary name beside its old one.
func (r *Restorer) prepare(s *work, p *object.Place) error {
	if r.review.Prepared(s.Step) != "" {
		s.linked, s.temp = true, p.Temp // of an undo that was interrupted
		r.keeper.Name(p.Dir, p.Temp, p.TempOf(s.Path), false)
		return nil
	}
	r.vacate(s, p)
	s.temp = p.Temp
	if s.Want.Kind == Link {
		err := r.fill(s, p)
		s.linked = err == nil
		return err
	}
	path := s.From
	if aside, ok := r.review.Aside[s.Want.ID]; ok {
		path = aside
	}
	from, err := object.OpenPlace(path)
	if err != nil {
		return err
	}
	defer from.Close()
	if path == s.From {
		r.keeper.Name(from.Dir, from.Name, path, false) // before its attributes change
	}
	err = from.OnObject(func(name string, now State) error {
		if !r.origin.Is(now.ID, s.Want.ID) {
			return object.ErrChanged
		}
		r.own[now.ID] = true
		return unix.Linkat(unix.AT_FDCWD, name, p.Dir, p.Temp, unix.AT_SYMLINK_FOLLOW)
	})
	s.linked = err == nil
	return err
}

// leaveNoTemps removes the temporary names of objects that are where they are to be, or still where
// they were. Of the others, the error of the step says which name the object has.
func (r *Restorer) leaveNoTemps(steps []*work) {
	for _, s := range steps {
		var temps []string
		failed := s.Failed != ""
		if s.linked && failed {
			temps = append(temps, filepath.Join(filepath.Dir(s.Path), s.temp))
		}
		if aside, ok := r.review.Aside[s.Want.ID]; ok && s.PutsBack() {
			temps = append(temps, aside)
		}
		// A name is removed only if the object has another one.
		for i, temp := range temps {
			now, err := object.LookPath(temp)
			same := r.origin.Is(now.ID, s.Want.ID) || s.Want.Kind == Link && now.SameLook(&s.Want) // made by prepare
			switch {
			case err != nil || !same:
			case (now.Kind == Link || now.Nlink > 1) && (!failed || r.isAt(s.Want.ID, append(temps[i+1:], s.From, s.Path, r.review.At[s.Want.ID]))):
				if p, err := object.OpenPlace(temp); err == nil {
					unix.Unlinkat(p.Dir, p.Name, 0)
					p.Close()
				}
			case failed:
				s.Failed += "; until then what stood there is " + temp
			}
		}
	}
}

func (r *Restorer) isAt(id ID, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		now, err := object.LookPath(path)
		return err == nil && r.origin.Is(now.ID, id)
	})
}

// replace gives the temporary file of a step its name. What is there must be what was kept: to
// write the temporary file took a while.
func (s *work) replace(p *object.Place) error {
	now, err := object.Look(p.Dir, p.Name)
	if err != nil || !now.SameObject(&s.kept) {
		return object.ErrChanged
	}
	if now.Kind == Dir {
		if err := unix.Unlinkat(p.Dir, p.Name, unix.AT_REMOVEDIR); err != nil { // something else is in it
			return fmt.Errorf("%w: move away what is in it, and run undo again", err)
		}
	}
	if now.Kind == None || now.Kind == Dir {
		// Nothing was there: a file that was made since must not be replaced.
		err = unix.Renameat2(p.Dir, p.Temp, p.Dir, p.Name, unix.RENAME_NOREPLACE)
		if err == unix.EEXIST {
			return object.ErrChanged
		}
		if err != unix.EINVAL { // else the filesystem cannot do that
			return err
		}
	}
	return unix.Renameat(p.Dir, p.Temp, p.Dir, p.Name)
}
