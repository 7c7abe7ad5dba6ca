package undo

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errChanged is the error of a step whose path was changed between the comparison and the step.
var errChanged = errors.New("it was changed a moment ago")

// errNoDir is the error of a path whose directory has not come back.
var errNoDir = errors.New("its directory is not there, or is a symbolic link now, which undo does not follow")

// work carries out the steps of an undo, which is a session of its own.
type work struct {
	*Restorer
	keeper *Keeper
	data   *os.File // of the session that is undone
}

// Run carries out the steps. First it keeps all that it will replace, so that the undo can be undone;
// what cannot be kept stays. It returns the name of the undo's session, if a path has changed.
func (r *Restorer) Run() (id string, err error) {
	w, err := r.session.store.Begin(Head{Server: r.session.Head.Server, Roots: r.session.Head.Roots, Undoes: r.session.ID, Call: r.sel.Call})
	if err != nil {
		return "", err
	}
	defer w.Close()
	journal, data, err := w.Files(nil)
	if err != nil {
		return "", err
	}
	defer journal.Close()
	defer data.Close()
	self, err := selfFD()
	if err != nil {
		return "", err
	}
	const noLimit = 1 << 50
	do := &work{Restorer: r}
	do.keeper = &Keeper{Journal: journal, Data: data, SelfFD: self, FileBytes: noLimit, TotalBytes: noLimit}
	if do.data, err = r.session.data(); err == nil {
		defer do.data.Close()
	}
	defer do.keeper.enter()()
	do.all()
	for _, s := range r.Steps {
		if s.Err != nil && do.isOurs(&s) {
			do.keeper.note([]string{s.Path})
		}
	}
	if s, err := r.session.store.Session(w.ID()); err != nil || len(s.Events(Selection{})) > 0 {
		id = w.ID()
	}
	return id, nil
}

// isOurs reports whether the undo itself left what is at the path of a failed step.
func (w *work) isOurs(s *Step) bool {
	if s.Err == errChanged || s.begun {
		return s.Err != errChanged
	}
	now, err := w.keeper.reader().at(s.Path, -1)
	return err == nil && s.isStill(&now)
}

// all carries out the steps in an order in which each finds its place: what is in the way goes, from the
// deepest path up, and directories and files come from the top down. Only then what was made goes, because
// it may have what could not be made. Directories get their modes and times last.
func (w *work) all() {
	var down []*Step
	for i := range w.Steps {
		if w.Steps[i].Action != Refuse {
			down = append(down, &w.Steps[i])
		}
	}
	up := slices.Clone(down)
	slices.Reverse(up)
	w.each(down, w.keepNow)
	var inWay []string
	for _, s := range down {
		if s.Err != nil || s.want.Kind == none || s.now.Kind == none || (s.now.Kind == Dir) == (s.want.Kind == Dir) {
			continue
		}
		if s.want.Kind == file && s.want.Kept {
			if s.Err = w.verify(&s.want); s.Err != nil { // what is in its way may be all that there is of it
				continue
			}
		}
		inWay = append(inWay, s.Path)
	}
	w.each(up, func(s *Step, dir int, name string) error {
		if slices.ContainsFunc(inWay, func(dir string) bool { return within(s.Path, dir) }) && s.now.Kind != none && (s.want.Kind == none || slices.Contains(inWay, s.Path)) {
			return w.remove(s, dir, name)
		}
		return nil
	})
	w.each(down, w.put)
	stays := w.missing()
	w.each(up, func(s *Step, dir int, name string) error {
		if s.want.Kind != none || s.now.Kind == none {
			return nil
		}
		if from := stays.movedTo(s); from != nil {
			return errors.New("it stays, because it has what was " + from.path)
		}
		return w.remove(s, dir, name)
	})
	w.each(up, func(s *Step, dir int, name string) error {
		if s.want.Kind != Dir {
			return nil
		}
		err := w.setDir(s, dir, name)
		if err == nil {
			w.keeper.note([]string{s.Path})
		}
		return err
	})
}

// each calls f for the steps that have not failed, with the open directory of their path: -1 if that is
// missing and may come back.
func (w *work) each(steps []*Step, f func(s *Step, dir int, name string) error) {
	for _, s := range steps {
		if s.Err != nil {
			continue
		}
		dir, name, err := openParent(s.Path)
		if isMissing(err) && s.now.Kind == none {
			dir, err = -1, nil
		}
		if err == nil {
			err = f(s, dir, name)
			unix.Close(dir)
		}
		if err == unix.EEXIST { // another program has made it meanwhile
			err = errChanged
		}
		s.Err = err
	}
}

// keepNow keeps what a step replaces.
func (w *work) keepNow(s *Step, dir int, name string) error {
	if dir < 0 {
		return w.keeper.keep(-1, s.Path, &state{Kind: none})
	}
	now, err := w.keeper.name(dir, name, s.Path)
	switch {
	case err != nil:
		return fmt.Errorf("what is there now cannot be stored: %w", err)
	case !s.isStill(&now):
		return errChanged
	case now.Kind == file && !now.Kept:
		return errors.New("what is there now cannot be stored: " + now.Lost)
	}
	s.now.ACL = now.ACL
	return nil
}

// isStill reports whether a path has what it had when it was compared. Of a file with several names, each
// of which may have been put back meanwhile, only the inode counts.
func (s *Step) isStill(now *state) bool {
	same := s.now.Kind == now.Kind && s.now.ID == now.ID
	return same && (now.Kind != file || s.now.Nlink > 1 || s.now.Size == now.Size && s.now.Mtime == now.Mtime)
}

// check looks at a path right before it is changed.
func (w *work) check(s *Step, dir int, name string) error {
	now, err := look(dir, name)
	if err == nil && !s.isStill(&now) {
		err = errChanged
	}
	moment()
	return err
}

func (w *work) remove(s *Step, dir int, name string) error {
	if err := w.check(s, dir, name); err != nil {
		return err
	}
	flags := 0
	if s.now.Kind == Dir {
		flags = unix.AT_REMOVEDIR
	}
	err := unix.Unlinkat(dir, name, flags)
	if err == unix.ENOTEMPTY {
		return errors.New("it stays, because there is something in it that the server did not make or that stays")
	}
	if err == nil {
		s.begun = true
		if s.now = (state{Kind: none}); s.want.Kind == none { // else it is not done yet
			w.keeper.note([]string{s.Path})
		}
	}
	return err
}

// put has what was at a path stand there again. A directory gets its mode later.
func (w *work) put(s *Step, dir int, name string) (err error) {
	if s.want.Kind == none {
		return nil
	}
	if dir < 0 {
		return errNoDir
	}
	switch {
	case s.want.Kind == Dir && s.now.Kind == Dir && s.now.Mode&0o700 == 0o700:
		return nil
	case s.want.Kind == Dir && s.now.Kind == Dir:
		s.begun = true
		return w.onObject(dir, name, func(at string, _ int) error { return unix.Fchmodat(w.keeper.SelfFD, at, s.now.Mode|0o700, 0) })
	case s.want.Kind == Dir:
		moment()
		err = unix.Mkdirat(dir, name, 0o700)
		s.begun = s.begun || err == nil
		return err
	case s.inPlace():
		err = w.rewrite(s, dir, name)
	default:
		err = w.replace(s, dir, name)
	}
	if err == nil {
		w.keeper.note([]string{s.Path})
	}
	return err
}

// onObject calls f with the name, below /proc/self/fd, and the descriptor of what is at a name.
func (w *work) onObject(dir int, name string, f func(at string, fd int) error) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(strconv.Itoa(fd), fd)
}

// rewrite gives the file that was at a path, and is there still, its content back.
func (w *work) rewrite(s *Step, dir int, name string) error {
	return w.onObject(dir, name, func(at string, object int) error {
		if err := w.check(s, object, ""); err != nil {
			return err
		}
		s.begun = true
		if !bytes.Equal(s.now.Sum, s.want.Sum) {
			if err := w.verify(&s.want); err != nil {
				return err
			}
			if s.now.Mode&0o200 == 0 {
				_ = unix.Fchmodat(w.keeper.SelfFD, at, s.now.Mode&^setID|0o200, 0)
			}
			fd, err := unix.Openat(w.keeper.SelfFD, at, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			to := os.NewFile(uintptr(fd), at)
			defer to.Close()
			if err := w.copyOut(to, &s.want); err != nil {
				return fmt.Errorf("%w: %w", ErrHalf, err)
			}
		}
		return w.attributes(at, object, &s.want, s.now.ACL)
	})
}

// replace makes what was at a path beside it, and gives it the name. The undo's journal has the other
// name first, so that one that a kill leaves is known.
func (w *work) replace(s *Step, dir int, name string) error {
	temp := tempPrefix + strings.ToLower(rand.Text()[:12])
	path := filepath.Join(filepath.Dir(s.Path), temp)
	if err := w.keeper.keep(-1, path, &state{Kind: none}); err != nil {
		return err
	}
	flags := uint(0)
	if s.now.Kind == none { // what another program makes there meanwhile stays
		flags = unix.RENAME_NOREPLACE
	}
	err := w.make(s, dir, temp)
	if err == nil {
		err = w.check(s, dir, name)
	}
	if err == nil {
		err = unix.Renameat2(dir, temp, dir, name, flags)
	}
	if err != nil {
		unix.Unlinkat(dir, temp, 0)
	}
	moment()
	w.keeper.note([]string{path})
	return err
}

const tempPrefix = ".mcp-jail-undo-"

func (w *work) make(s *Step, dir int, temp string) error {
	moment()
	if s.want.Kind == link {
		return unix.Symlinkat(string(s.want.Target), dir, temp)
	}
	if err := w.verify(&s.want); err != nil {
		return err
	}
	fd, err := unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	to := os.NewFile(uintptr(fd), temp)
	defer to.Close()
	if err := w.copyOut(to, &s.want); err != nil {
		return err
	}
	return w.attributes(strconv.Itoa(fd), fd, &s.want, false)
}

// verify reads a content that was kept, and compares its digest: the store may be damaged.
func (w *work) verify(want *state) error {
	if w.data == nil {
		return errors.New("what was stored of it is missing")
	}
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(w.data, want.Data, want.Size))
	if err == nil && (n != want.Size || !bytes.Equal(h.Sum(nil), want.Sum)) {
		err = errors.New("what was stored of it is damaged")
	}
	return err
}

func (w *work) copyOut(to *os.File, want *state) error {
	moment()
	if _, err := io.Copy(to, io.NewSectionReader(w.data, want.Data, want.Size)); err != nil {
		return err
	}
	moment()
	return to.Truncate(want.Size)
}

// attributes gives an object the owner, the mode and the times of a state. at is its name below
// /proc/self/fd, and listed says that it is what was there before, and has an access list still. What is made
// again gets none, not even that of its directory: a server may have chosen that.
func (w *work) attributes(at string, fd int, want *state, listed bool) error {
	for _, own := range [][2]uint32{{want.UID, ^uint32(0)}, {^uint32(0), want.GID}} { // as far as the user may, and the jail saw
		if own[0] != noOwner && own[1] != noOwner {
			_ = unix.Fchownat(fd, "", int(int32(own[0])), int(int32(own[1])), unix.AT_EMPTY_PATH)
		}
	}
	path := "/proc/self/fd/" + at
	if listed = listed && want.ACL; !listed {
		for _, list := range lists {
			unix.Removexattr(path, list)
		}
	}
	if err := unix.Fchmodat(w.keeper.SelfFD, at, want.modeToMake(listed), 0); err != nil {
		return err
	}
	moment()
	return unix.UtimesNanoAt(w.keeper.SelfFD, at, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(want.Mtime)}, 0)
}

func (w *work) setDir(s *Step, dir int, name string) error {
	if dir < 0 {
		return errNoDir
	}
	return w.onObject(dir, name, func(at string, fd int) error {
		now, err := look(fd, "")
		if err == nil && now.Kind != Dir {
			err = errChanged
		}
		if err != nil {
			return err
		}
		s.begun = true
		return w.attributes(at, fd, &s.want, s.want.ID == s.now.ID && s.now.ACL)
	})
}
