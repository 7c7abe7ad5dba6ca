package undo

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"github.com/mcp-jail/mcp-jail/undo/internal/steps"
	"golang.org/x/sys/unix"
)

// vacate makes sure that nothing has the temporary name of a step. A file that an interrupted undo
// has left there is kept and removed. If the file may be another one, was changed since, or cannot be
// removed, the temporary name becomes a random one.
func (r *Restorer) vacate(s *work, p *object.Place) {
	st, err := object.Look(p.Dir, p.Temp)
	if err == nil && st.Kind == None {
		return
	}
	if err == nil && !r.review.Knows(p.TempOf(s.Path)) && r.origin.IsLeftover(p.TempOf(s.Path), &st) {
		r.keeper.TakeLost()
		r.keeper.Name(p.Dir, p.Temp, p.TempOf(s.Path), true)
		if r.keeper.TakeLost() == "" {
			p.Clear()
			st, err = object.Look(p.Dir, p.Temp)
		}
	}
	if err != nil || st.Kind != None {
		random := make([]byte, 8)
		rand.Read(random)
		p.Temp = steps.TempPrefix + hex.EncodeToString(random)
	}
}

func (r *Restorer) writeFile(s *work, p *object.Place) error {
	fd, err := unix.Openat(p.Dir, p.Temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	data, err := journal.OpenData(r.Session, s.Want.Jail)
	if err != nil {
		return err
	}
	defer data.Close()
	if err := copyOut(int(data.Fd()), fd, s.Want.Data, s.Want.Size); err != nil {
		return err
	}
	if unix.Fchown(fd, int(s.Want.UID), int(s.Want.GID)) != nil {
		unix.Fchown(fd, -1, int(s.Want.GID))
	}
	object.DropAccessLists("/proc/self/fd/" + strconv.Itoa(fd))
	// Attributes come before the mode: an access list has its mask in the group bits.
	if err := r.copyAttributes(p, s.Want.ID, fd); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, s.Want.ModeFor("/proc/self/fd/"+strconv.Itoa(fd))&^object.SetID); err != nil {
		return err
	}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), timesOf(&s.Want), 0); err != nil {
		return err
	}
	now, err := object.Look(fd, "")
	if err != nil {
		return err
	}
	r.keeper.StandsFor(now, s.Path, s.Want.ID)
	return unix.Fsync(fd)
}

// copyOut copies a part of a data file to a new file. Holes stay holes.
func copyOut(data, to int, at, size int64) error {
	var st unix.Stat_t
	if err := unix.Fstat(data, &st); err != nil {
		return err
	}
	if st.Size < at+size { // beyond its end, the file looks like a hole
		return errors.New("what was kept of it is not complete")
	}
	if size >= object.MinClone {
		whole := (size + object.Block - 1) / object.Block * object.Block
		clone := unix.FileCloneRange{Src_fd: int64(data), Src_offset: uint64(at), Src_length: uint64(whole)}
		if unix.IoctlFileCloneRange(to, &clone) == nil {
			return unix.Ftruncate(to, size)
		}
	}
	n, err := object.CopyContent(to, 0, data, at, size, make([]byte, 256<<10))
	if err == nil && n < size {
		err = unix.EIO
	}
	if err != nil {
		return err
	}
	return unix.Ftruncate(to, size)
}

// copyAttributes copies extended attributes and the access list of the file at a place to the one
// that replaces it. The journal has none, so these are the best there are. They must be those of
// the same file: a server may have put a file of its own there, with an access list for others.
// Nothing that gives a program rights is copied, such as security.capability.
func (r *Restorer) copyAttributes(p *object.Place, id ID, to int) (lost error) {
	p.OnObject(func(name string, now State) error {
		list := make([]byte, 64<<10)
		n, err := unix.Listxattr(name, list)
		if err != nil || !r.origin.Is(now.ID, id) {
			return err
		}
		for attr := range strings.SplitSeq(string(list[:n]), "\x00") {
			if attr != object.ListOfAccess && !strings.HasPrefix(attr, "user.") {
				continue
			}
			value := make([]byte, 64<<10)
			size, err := unix.Getxattr(name, attr, value)
			if err == nil {
				err = unix.Fsetxattr(to, attr, value[:size], 0)
			}
			if err != nil && err != unix.ENODATA && attr != object.ListOfAccess {
				lost = fmt.Errorf("its attribute %q would be lost: %w", attr, err)
			}
		}
		return nil
	})
	return lost
}
