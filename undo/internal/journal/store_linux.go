package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// Writer adds a session to a store. The session counts as running until Close.
type Writer struct {
	Dir    string
	head   Head
	store  Store
	dir    *private.Dir
	unlock func()
	mu     sync.Mutex
	jail   int
	used   room            // room of the files of jails that have ended
	live   map[*Files]bool // the files of the other jails
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
		fraction := uint64(now.Nanosecond()) << 16 / 1e9
		name := fmt.Sprintf("%s-%04x", now.Format("20060102-150405"), fraction)
		dir, err := top.MakeNew(name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		w := &Writer{Dir: filepath.Join(s.Dir, name), head: head, store: s, dir: dir, live: map[*Files]bool{}}
		if w.unlock, err = hold(dir, private.Shared); err != nil {
			dir.Close()
			_ = top.Remove(name)
			return nil, err
		}
		return w, nil
	}
}

// ID returns the name of the session.
func (w *Writer) ID() string { return filepath.Base(w.Dir) }

// Files are the two files of a jail.
type Files struct {
	Journal, Data *os.File
	name          string
	writer        *Writer
	once          sync.Once
	finished      atomic.Bool
}

// Jail makes the files of another jail of the session. The roots are the places that the jail may
// write.
func (w *Writer) Jail(roots []string) (*Files, error) {
	w.mu.Lock()
	w.jail++
	name := strconv.Itoa(w.jail)
	w.mu.Unlock()
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	journal, err := w.dir.OpenFile(name+JournalSuffix, flags|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	f := &Files{Journal: journal, name: name, writer: w}
	if f.Data, err = w.dir.OpenFile(name+DataSuffix, flags, 0o600); err == nil {
		head := w.head
		head.Roots = roots
		err = f.write(&Record{Word: WordHead, At: time.Now().UnixNano(), Head: &head})
	}
	if err != nil {
		f.discard()
		return nil, err
	}
	w.mu.Lock()
	w.live[f] = true
	w.mu.Unlock()
	return f, nil
}

func (f *Files) discard() {
	f.Journal.Close()
	_ = f.writer.dir.Remove(f.name + JournalSuffix)
	if f.Data != nil {
		f.Data.Close()
		_ = f.writer.dir.Remove(f.name + DataSuffix)
	}
}

func (f *Files) write(r *Record) error { return f.append(r.Append(nil)) }

// append appends lines to the journal. The supervisor appends too, and either write can be cut
// short: so the lines begin with a newline unless they are the first.
func (f *Files) append(lines []byte) error { return appendLines(f.Journal, lines) }

func appendLines(journal *os.File, lines []byte) error {
	info, err := journal.Stat()
	if err != nil {
		return err
	}
	// The write before may have been cut short: begin a new line.
	if info.Size() > 0 {
		lines = slices.Concat([]byte{'\n'}, lines)
	}
	if _, err = journal.Write(lines); err != nil {
		journal.Chmod(DamagedMode)
	}
	return err
}

// AppendTo appends lines to the journal of a jail.
func AppendTo(s *Session, jail int, lines []byte) error {
	journal, err := openFile(s, jail, JournalSuffix, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	return errors.Join(appendLines(journal, lines), journal.Close())
}

// errJournalFull is the error of BeginCall if nothing more is kept.
var errJournalFull = errors.New("the journal is full")

// BeginCall says that what the jail does from now on belongs to a call.
func (f *Files) BeginCall(c Call) error {
	info, err := f.Journal.Stat()
	if err != nil {
		return err
	}
	if info.Size() > MaxJournal {
		return errJournalFull
	}
	return f.write(&Record{Word: wordCall, At: time.Now().UnixNano(), Call: &c})
}

// Finish records what the jail left where that is not known yet. No process of the jail may run any
// more. The files of a jail that changed nothing are removed. changed reports whether there was
// anything. Only the first call does this; the others return false.
func (f *Files) Finish() (changed bool) {
	f.once.Do(func() {
		defer f.finished.Store(true)
		defer f.writer.ended(f)
		defer f.Data.Close()
		defer f.Journal.Close()
		records, _, err := readJournal(f.writer.dir, f.name+JournalSuffix, 0)
		if err != nil {
			return
		}
		if changed = slices.ContainsFunc(records, func(r Record) bool { return r.Path != "" || r.Word == WordGap }); !changed {
			f.discard()
			return
		}
		var lines []byte
		h := history([]*jail{{records: records}}, Selection{})
		for _, c := range h.Changes {
			if c.Known || h.Gap != "" { // others can have changed it since the journal was full
				continue
			}
			st, err := object.LookPath(c.Path)
			if err != nil && err != unix.ELOOP {
				continue // it is not known
			}
			if err != nil {
				st = object.State{Kind: object.None}
			}
			lines = (&Record{Word: WordNow, At: time.Now().UnixNano(), Path: c.Path, State: st}).Append(lines)
		}
		f.append((&Record{Word: WordEnd, At: time.Now().UnixNano()}).Append(lines))
	})
	return changed
}

// Finished reports whether a call of Finish has done its work.
func (f *Files) Finished() bool { return f.finished.Load() }

// Close ends the session. A session without changes leaves nothing.
func (w *Writer) Close() {
	if top, err := w.store.open(private.Open); err == nil {
		_ = top.Remove(w.ID()) // if it is empty
		top.Close()
	}
	w.unlock()
	w.dir.Close()
}

// Sessions returns the sessions of the store, the latest first, and errors of those that cannot
// be read.
func (s Store) Sessions() (out []*Session, err error) {
	top, names, err := s.names()
	if top == nil {
		return nil, err
	}
	top.Close()
	for _, name := range slices.Backward(names) {
		session, e := s.Session(name)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		if len(session.jails) > 0 {
			out = append(out, session)
		}
	}
	return out, err
}

// Siblings returns the sessions of the store of a session, the latest first. A session that cannot be
// read is left out.
func Siblings(s *Session) []*Session {
	all, _ := s.store.Sessions()
	return all
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
// others take at most total bytes. It leaves the sessions that run, and the newest one unless that
// is too old. It returns the names of the removed sessions that were not empty.
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
		if fits := total >= 0 || newest; files > 0 && fits && time.Since(last) < age {
			newest = false
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

// room is the space that files take on the disk.
type room struct{ all, journals int64 }

// Room returns how much another jail may keep if the session may keep a total, and how much its
// journal may take.
func (w *Writer) Room(total int64) (all, journal int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	used := w.used
	for f := range w.live {
		used.add(f)
	}
	return max(1, total-used.all), max(minJournal, MaxJournal-used.journals)
}

// minJournal is enough for the head of a journal, and the record that it is full.
const minJournal = 4096

func (w *Writer) ended(f *Files) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.live, f)
	w.used.add(f)
}

func (r *room) add(f *Files) {
	for _, suffix := range []string{JournalSuffix, DataSuffix} {
		info, err := f.writer.dir.Lstat(f.name + suffix)
		if err != nil {
			continue
		}
		if r.all += onDisk(info); suffix == JournalSuffix {
			r.journals += info.Size()
		}
	}
}

func usage(dir *private.Dir) (size int64, last time.Time, files int) {
	entries, _ := dir.Names()
	if info, err := dir.Lstat("."); err == nil {
		last = info.ModTime()
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		size += onDisk(info)
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return size, last, len(entries)
}

func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return 0
}
