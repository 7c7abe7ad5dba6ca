package steps

import (
	"fmt"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

func (r *Review) choose(step *Step) {
	want, now := &step.Want, &step.Now
	switch want.Kind {
	case object.None:
		step.Action = Remove
	case object.Dir:
		if step.Action = Remake; now.Kind == object.Dir {
			step.Action = Attributes
		}
	case object.Link:
		step.Action = Restore
	case object.Other:
		r.chooseOther(step)
	case object.File:
		r.chooseFile(step)
	}
}

func (r *Review) chooseFile(step *Step) {
	want, now := &step.Want, &step.Now
	kept := want.Data != object.NoData
	switch {
	case kept && now.Kind == object.File && (r.Origin.Is(now.ID, want.ID) || want.Nlink < 2 && !r.isAnother(want, now)) && journal.SameContent(r.session, want, step.Path),
		!kept && want.Lost == "" && r.Origin.Is(now.ID, want.ID) && !r.onlyStandsFor(want, now):
		step.Action = Attributes
	case want.Lost != "":
		step.refuse("its content was not kept: " + want.Lost)
	case r.chooseMoveBack(step):
	case kept:
		step.Action = Restore
	default:
		step.refuse("its content was not kept, since the server only moved it, and " + r.whereMoved(want))
	}
}

func (r *Review) chooseOther(step *Step) {
	switch {
	case r.Origin.Is(step.Now.ID, step.Want.ID):
		step.Action = Attributes
	case !r.chooseMoveBack(step):
		step.refuse("it was a FIFO, a socket or a device, which undo does not make, and " + r.whereMoved(&step.Want))
	}
}

func (r *Review) chooseMoveBack(step *Step) bool {
	want := &step.Want
	is := func(path string) bool {
		return want.Kind != object.File || want.Data == object.NoData || journal.SameContent(r.session, want, path)
	}
	from, moved := r.At[want.ID]
	aside, isAside := r.Aside[want.ID]
	switch temp := r.Prepared(step); {
	case moved && from != step.Path && r.whyChanged(from) == "" && is(from):
		step.From = from
	case moved && want.Data == object.NoData:
		return false
	case temp != "" && is(temp):
	case isAside && is(aside):
		step.From = aside
	default:
		return false
	}
	step.Action = MoveBack
	return true
}

func (r *Review) whereMoved(want *object.State) string {
	if from, ok := r.At[want.ID]; ok {
		if why := r.whyChanged(from); why != "" {
			return "it is " + from + " now, and " + why
		}
		return "it is " + from + " now, with another content"
	}
	return "it is at none of the places to which the server moved files"
}

func (r *Review) whyChanged(path string) string {
	c := r.changes[path]
	if c == nil {
		return "the server did not change that path"
	}
	now, err := object.LookPath(path)
	if err != nil {
		return "it cannot be reached: " + object.PathError(err)
	}
	why, _ := r.Origin.BelongsToOthers(c, &now)
	return why
}

// Matches reports whether the object at a path has the state that the step wants.
func (r *Review) Matches(want, now *object.State, path string) bool {
	if !want.IsRestored(now) {
		return false
	}
	switch {
	case want.Kind != object.File:
		return true
	case want.Lost != "":
		return want.SameObject(now)
	case want.Data == object.NoData:
		return r.Origin.Is(now.ID, want.ID) && !r.onlyStandsFor(want, now)
	}
	return !r.isAnother(want, now) && journal.SameContent(r.session, want, path)
}

// isAnother reports whether an object is not the wanted one, but one that is to be elsewhere, such
// as another file of the same content of which the server has made a hard link.
func (r *Review) isAnother(want, now *object.State) bool {
	return !r.Origin.Is(now.ID, want.ID) && r.Origin.IsWanted(now.ID)
}

// refuseFixed refuses the steps that an attribute of a file or of its directory denies: immutable and
// append-only (chattr(1)). Begun all the same, they could leave temporary names that undo may not
// remove.
func (r *Review) refuseFixed() {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Action != Refuse {
			if why := s.fixed(); why != "" {
				s.refuse(why)
			}
		}
	}
}

func (s *Step) fixed() string {
	paths := []string{s.Path}
	if s.Action != Attributes {
		paths = append(paths, filepath.Dir(s.Path))
	}
	if s.From != "" {
		paths = append(paths, s.From, filepath.Dir(s.From))
	}
	for _, path := range paths {
		fd, err := object.OpenPath(path, 0)
		if err != nil {
			continue
		}
		var st unix.Statx_t
		err = unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_TYPE, &st)
		unix.Close(fd)
		for _, a := range []struct {
			bit        uint64
			name, flag string
		}{{unix.STATX_ATTR_IMMUTABLE, "immutable", "i"}, {unix.STATX_ATTR_APPEND, "append-only", "a"}} {
			if err != nil || st.Attributes&a.bit == 0 {
				continue
			}
			then := "" // a directory is known as before; a file has another time of its inode then
			if object.KindOf(uint32(st.Mode)) != object.Dir {
				then = ", move the file away"
			}
			return fmt.Sprintf("%s is %s: take that attribute away (chattr -%s)%s, and run undo again", path, a.name, a.flag, then)
		}
	}
	return ""
}
