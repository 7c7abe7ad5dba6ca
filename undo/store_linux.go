package undo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/private"
)

// Writer adds a session to a store. The session counts as running until Close.
type Writer struct {
	Dir     string
	store   Store
	dir     *private.Dir
	journal *os.File
	unlock  func()
	mu      sync.Mutex
	head    Head
}

// Begin makes the directory of a session. The names of sessions sort in the order in which they
// began, unless the clock was set back. They are times in UTC; the last part is the fraction of the
// second.
func (s Store) Begin(head Head) (*Writer, error) {
	top, err := s.open(private.Make)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	for {
		now := time.Now().UTC()
		name := fmt.Sprintf("%s-%04x", now.Format("20060102-150405"), uint64(now.Nanosecond())<<16/1e9)
		dir, err := top.MakeNew(name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		w := &Writer{Dir: filepath.Join(s.Dir, name), store: s, dir: dir, head: head}
		if w.unlock, err = hold(dir, private.Shared); err != nil {
			dir.Close()
			_ = top.Remove(name)
			return nil, err
		}
		if w.journal, err = w.open(journalName); err == nil {
			err = w.append(&record{Head: &w.head})
		}
		if err != nil {
			_ = dir.Remove(journalName) // without its first line it would be a damaged session
			w.Close()
			return nil, err
		}
		return w, nil
	}
}

func (w *Writer) open(name string) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	if name == journalName {
		flags |= os.O_APPEND
	}
	return w.dir.OpenFile(name, flags, 0o600)
}

func (w *Writer) append(r *record) error { return add(w.journal, 1<<40, r) }

// ID returns the name of the session.
func (w *Writer) ID() string { return filepath.Base(w.Dir) }

// Files opens the journal and the data file for a process that may write below roots. Each process has
// descriptors of its own, so that they can keep each other from appending.
func (w *Writer) Files(roots []string) (journal, data *os.File, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(w.head.Roots, roots)))); len(all) > len(w.head.Roots) {
		w.head.Roots = all
		if err := w.append(&record{Head: &w.head}); err != nil {
			return nil, nil, err
		}
	}
	if journal, err = w.open(journalName); err != nil {
		return nil, nil, err
	}
	if data, err = w.open(dataName); err != nil {
		journal.Close()
		return nil, nil, err
	}
	return journal, data, nil
}

// BeginCall says that what changes from now on belongs to a call. With the number 0 it belongs to none.
func (w *Writer) BeginCall(c Call) error { return w.append(&record{Call: &c}) }

// Close ends the session. A session without changes leaves nothing.
func (w *Writer) Close() {
	if w.journal != nil {
		if s, err := w.store.Session(w.ID()); err == nil && s.Empty() && !s.Damaged {
			_ = w.dir.Remove(journalName)
			_ = w.dir.Remove(dataName)
		} else {
			_ = w.append(&record{End: true})
		}
		w.journal.Close()
	}
	if top, err := w.store.open(private.Open); err == nil {
		_ = top.Remove(w.ID()) // if it is empty
		top.Close()
	}
	w.unlock()
	w.dir.Close()
}

func hold(dir *private.Dir, kind private.Kind) (unlock func(), err error) {
	for try := 0; ; try++ { // isHeld holds it for a moment
		if unlock, err = dir.Lock(kind); err == nil || try == 3 {
			return unlock, err
		}
		time.Sleep(time.Millisecond)
	}
}

func isHeld(dir *private.Dir) bool {
	unlock, err := hold(dir, private.Exclusive)
	if err != nil {
		return true
	}
	unlock()
	return false
}

// Session reads what was kept of a session.
func (s Store) Session(id string) (*Session, error) {
	dir, err := s.open(private.Open, id)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	journal, err := dir.OpenFile(journalName, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer journal.Close()
	out := &Session{ID: id, Running: isHeld(dir), store: s}
	call := 0
	out.Damaged, err = parse(journal, func(r *record) {
		switch {
		case r.Head != nil:
			if out.Started.IsZero() {
				out.Started = time.Unix(0, r.At)
			}
			out.Head = *r.Head
		case r.Call != nil:
			call = r.Call.Number
			if call != 0 {
				out.Calls = append(out.Calls, *r.Call)
			}
		case r.End:
			out.Ended = true
		case r.Path != nil:
			out.records = append(out.records, called{*r, call})
		}
	})
	if err == nil && out.Started.IsZero() {
		err = fmt.Errorf("%s cannot be read: its first line is damaged", filepath.Join(s.Dir, id, journalName))
	}
	return out, err
}

// Sessions returns the sessions of the store, the latest first, and the directories of those that
// another version of mcp-jail has stored. The error is about sessions that cannot be read.
func (s Store) Sessions() (out []*Session, old []string, err error) {
	top, names, err := s.names()
	if top == nil {
		return nil, nil, err
	}
	defer top.Close()
	for _, name := range slices.Backward(names) {
		session, e := s.Session(name)
		switch {
		case errors.Is(e, fs.ErrNotExist):
			if dir, err := top.Open(name); err == nil {
				if files, _ := dir.Names(); len(files) > 0 {
					old = append(old, filepath.Join(s.Dir, name))
				}
				dir.Close()
			}
		case e != nil:
			err = errors.Join(err, e)
		default:
			out = append(out, session)
		}
	}
	return out, old, err
}

// names opens the store and returns the names of all sessions, the oldest first. Without a store,
// top is nil.
func (s Store) names() (top *private.Dir, names []string, err error) {
	top, err = s.open(private.Open)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if top == nil {
		return nil, nil, err
	}
	entries, err := top.Names()
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return top, names, err
}

// Empty reports whether nothing is kept.
func (s Store) Empty() bool {
	top, names, _ := s.names()
	if top != nil {
		top.Close()
	}
	return len(names) == 0
}

// Expire removes the sessions that are empty or older than age, and then the oldest until the
// others take at most total bytes. It leaves the sessions that run, those of another version, and the
// newest one unless that is too old. It returns the names of the removed sessions that were not empty.
func (s Store) Expire(age time.Duration, total int64) (gone []string) {
	top, names, _ := s.names()
	if top == nil {
		return nil
	}
	defer top.Close()
	newest := true
	for _, name := range slices.Backward(names) {
		dir, err := top.Open(name)
		if err != nil {
			continue
		}
		size, last, files := usage(dir)
		total -= size
		_, err = dir.Lstat(journalName)
		if files > 0 && (err != nil || (total >= 0 || newest) && time.Since(last) < age) {
			newest = newest && err != nil
			dir.Close()
			continue
		}
		unlock, err := hold(dir, private.Exclusive)
		dir.Close()
		if err != nil {
			continue
		}
		_ = top.RemoveAll(name)
		unlock()
		if files > 0 {
			gone = append(gone, name)
		}
	}
	return gone
}

func usage(dir *private.Dir) (size int64, last time.Time, files int) {
	entries, _ := dir.Names()
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		size += info.Size()
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return size, last, len(entries)
}

// now returns what is at a path, with its content's digest.
func (s *Session) now(path string) (state, error) {
	self, err := selfFD()
	if err != nil {
		return state{}, err
	}
	return reader{self: self}.at(path, maxFile)
}

// maxFile bounds the files that undo reads to compare them.
const maxFile = 64 << 20

func (s *Session) data() (*os.File, error) {
	dir, err := s.store.open(private.Open, s.ID)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.OpenFile(dataName, os.O_RDONLY, 0)
}

// shown returns what a difference shows of a state that was kept.
func (s *Session) shown(st *state) ([]byte, error) {
	switch {
	case st.Kind == link:
		return fmt.Appendf(nil, "symbolic link to %s", st.Target), nil
	case st.Kind != file:
		return nil, nil
	case !st.Kept:
		return nil, errors.New(st.Lost)
	case st.Size > maxDiff:
		return nil, errLarge
	}
	data, err := s.data()
	if err != nil {
		return nil, err
	}
	defer data.Close()
	b := make([]byte, st.Size)
	_, err = data.ReadAt(b, st.Data)
	return b, err
}

// shownNow returns what a difference shows of what is at a path now.
func (s *Session) shownNow(path string) ([]byte, error) {
	dir, name, err := openParent(path)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	st, err := look(dir, name)
	switch {
	case err != nil:
		return nil, err
	case st.Kind != file:
		return s.shown(&st)
	case st.Size > maxDiff:
		return nil, errLarge
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxDiff))
}

var errLarge = errors.New("it is too large to be shown")

// NoteCall notes what stands at the paths that a call has touched and nobody has noted: its process
// has ended before it answered.
func (w *Writer) NoteCall(number int) {
	s, err := w.store.Session(w.ID())
	if err != nil {
		return
	}
	for _, c := range s.Changes(Selection{Call: number}) {
		if c.Known {
			continue
		}
		if st, err := s.now(c.Path); err == nil {
			_ = w.append(&record{Path: []byte(c.Path), Now: &st})
		}
	}
}
