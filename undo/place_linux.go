package undo

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// place is a path whose directory is held open. All calls go through the descriptor.
type place struct {
	dir  int
	name string
	temp string // the name of a temporary file beside it
}

// tempPrefix begins the names of temporary files.
const tempPrefix = ".mcp-jail-undo."

// openPlace opens the directory of a path without following a link.
func openPlace(path string) (*place, error) {
	dir, name, err := openParent(path)
	if err != nil {
		return nil, err
	}
	return &place{dir: dir, name: name}, nil
}

// openPlace opens a place that has a temporary name.
func (r *Restorer) openPlace(path string) (*place, error) {
	p, err := openPlace(path)
	if err == nil {
		p.temp = r.tempName(p.name)
	}
	return p, err
}

// tempName returns the temporary name beside a name. It is the same in each undo of the session, so
// the next run finds the file that an interrupted run has left. It depends on the nanosecond in
// which the session began, so no server or user makes a file of that name by chance.
func (r *Restorer) tempName(name string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", r.Session.Started.UnixNano(), name))
	return tempPrefix + hex.EncodeToString(sum[:6])
}

func (p *place) close() { unix.Close(p.dir) }

// clear removes the temporary file.
func (p *place) clear() {
	if unix.Unlinkat(p.dir, p.temp, 0) == unix.EISDIR {
		unix.Unlinkat(p.dir, p.temp, unix.AT_REMOVEDIR)
	}
}

// vacate makes sure that nothing has the temporary name of a step. A file that an interrupted undo
// has left there is kept and removed. If the file may be another one, was changed since, or cannot be
// removed, the temporary name becomes a random one.
func (r *Restorer) vacate(s *Step, p *place) {
	st, err := look(p.dir, p.temp)
	if err == nil && st.Kind == None {
		return
	}
	if err == nil && !r.knows(p.tempOf(s.Path)) && r.isLeftover(p.tempOf(s.Path), &st) {
		r.keeper.lost = ""
		r.keeper.Name(p.dir, p.temp, p.tempOf(s.Path), true)
		if r.keeper.lost == "" {
			p.clear()
			st, err = look(p.dir, p.temp)
		}
	}
	if err != nil || st.Kind != None {
		random := make([]byte, 8)
		rand.Read(random)
		p.temp = tempPrefix + hex.EncodeToString(random)
	}
}

// isLeftover reports whether an undo of this session was the last to change what has a temporary name.
func (r *Restorer) isLeftover(path string, st *State) bool {
	for _, t := range r.laterSessions() {
		if t.Head.Undoes == r.Session.ID && !t.Ended && !t.Running && t.livedAt(st) {
			return true
		}
	}
	return r.undoLeft(path, st)
}

// tempOf returns the path of the temporary file beside a path.
func (p *place) tempOf(path string) string { return filepath.Join(filepath.Dir(path), p.temp) }

// knows reports whether the session touched a path. A server that still runs has seen the temporary
// names of an earlier undo, and may have moved a file of the user to one.
func (r *Restorer) knows(path string) bool {
	if r.touched == nil {
		r.touched = map[string]bool{}
		for _, c := range r.Session.History(Selection{}).Changes {
			r.touched[c.Path] = true
		}
	}
	return r.touched[path]
}

// onObject calls f with a name of the object at the place that no rename can redirect, and with its
// state. The object is no symbolic link.
func (p *place) onObject(f func(name string, now State) error) error {
	fd, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	now, err := look(fd, "")
	if err != nil {
		return err
	}
	if now.Kind == Link {
		return errChanged
	}
	return f("/proc/self/fd/"+strconv.Itoa(fd), now)
}

// writeFile writes the content that was kept to the temporary file.
func (r *Restorer) writeFile(s *Step, p *place) error {
	fd, err := unix.Openat(p.dir, p.temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	data, err := r.Session.open(s.want.Jail, dataSuffix, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer data.Close()
	if err := copyOut(int(data.Fd()), fd, s.want.Data, s.want.Size); err != nil {
		return err
	}
	if unix.Fchown(fd, int(s.want.UID), int(s.want.GID)) != nil {
		unix.Fchown(fd, -1, int(s.want.GID))
	}
	dropAccessLists("/proc/self/fd/" + strconv.Itoa(fd))
	if err := r.copyAttributes(p, s.want.ID, fd); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, s.want.modeFor("/proc/self/fd/"+strconv.Itoa(fd))&^setID); err != nil {
		return err
	}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), s.want.times(), 0); err != nil {
		return err
	}
	now, err := look(fd, "")
	if err != nil {
		return err
	}
	r.keeper.StandsFor(now, s.Path, s.want.ID)
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
	if size >= minClone {
		whole := (size + block - 1) / block * block
		clone := unix.FileCloneRange{Src_fd: int64(data), Src_offset: uint64(at), Src_length: uint64(whole)}
		if unix.IoctlFileCloneRange(to, &clone) == nil {
			return unix.Ftruncate(to, size)
		}
	}
	buf := make([]byte, 256<<10)
	for off := int64(0); off < size; {
		if size >= minClone {
			next, err := unix.Seek(data, at+off, unix.SEEK_DATA)
			if err == unix.ENXIO || err == nil && next >= at+size {
				break
			}
			if err == nil {
				off = next - at
			}
		}
		n, err := unix.Pread(data, buf[:min(int64(len(buf)), size-off)], at+off)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return unix.EIO
		}
		if err := writeAt(to, buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
	return unix.Ftruncate(to, size)
}

// sameContent reports whether the file at a path has the content that was kept.
func (s *Session) sameContent(want *State, path string) bool {
	p, err := openPlace(path)
	if err != nil {
		return false
	}
	defer p.close()
	fd, err := unix.Openat(p.dir, p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size != want.Size {
		return false
	}
	data, err := s.open(want.Jail, dataSuffix, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer data.Close()
	one, two := make([]byte, 64<<10), make([]byte, 64<<10)
	for off := int64(0); off < want.Size; {
		n, err := unix.Pread(fd, one[:min(int64(len(one)), want.Size-off)], off)
		if err != nil || n == 0 {
			return false
		}
		if m, err := data.ReadAt(two[:n], want.Data+off); err != nil || m != n || string(one[:n]) != string(two[:n]) {
			return false
		}
		off += int64(n)
	}
	return true
}

// prepared returns the temporary name at which an interrupted undo has left the object that moves
// back, or "".
func (r *Restorer) prepared(s *Step) string {
	p, err := r.openPlace(s.Path)
	if err != nil {
		return ""
	}
	defer p.close()
	temp, err := look(p.dir, p.temp)
	if err != nil || r.knows(p.tempOf(s.Path)) || temp.Kind != s.want.Kind || !r.is(temp.ID, s.want.ID) {
		return ""
	}
	return p.tempOf(s.Path)
}

// findAside finds the objects to which an interrupted undo has given temporary names beside
// directories.
func (r *Restorer) findAside() {
	for i := range r.history.Changes {
		c := &r.history.Changes[i]
		if r.history.before(c).Kind != Dir {
			continue
		}
		p, err := r.openPlace(c.Path)
		if err != nil {
			continue
		}
		temp, err := look(p.dir, p.temp)
		if err == nil && temp.Kind != None && temp.Kind != Dir && r.wanted[r.fileOf(temp.ID)] && !r.knows(p.tempOf(c.Path)) {
			r.aside[r.fileOf(temp.ID)] = p.tempOf(c.Path)
		}
		p.close()
	}
}

// maxScan bounds the names that are looked at to find hard links.
const maxScan = 500000

// scanLinks returns the paths below the roots at which wanted files stand, by file.
func (r *Restorer) scanLinks(roots []string, wanted map[ID]*Step) map[ID][]string {
	found := map[ID][]string{}
	left := maxScan
	for _, root := range roots {
		filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if left--; left < 0 {
				return filepath.SkipAll
			}
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			if st, err := lookPath(path); err == nil && wanted[r.fileOf(st.ID)] != nil {
				found[r.fileOf(st.ID)] = append(found[r.fileOf(st.ID)], path)
			}
			return nil
		})
	}
	return found
}
