package undo

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
)

// Store is the directory with the kept sessions of a server.
type Store struct{ Dir string }

// Writer adds a session to a store. The session counts as running until Close.
type Writer struct {
	Dir  string
	head Head
	lock int
	mu   sync.Mutex
	jail int
	used room            // room of the files of jails that have ended
	live map[*Files]bool // the files of the other jails
}

// Begin makes the directory of a session. The names of sessions sort in the order in which they
// began, unless the clock was set back. They are times in UTC; the last part is the fraction of the
// second.
func (s Store) Begin(head Head) (*Writer, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	for {
		now := time.Now().UTC()
		fraction := uint64(now.Nanosecond()) << 16 / 1e9
		dir := filepath.Join(s.Dir, fmt.Sprintf("%s-%04x", now.Format("20060102-150405"), fraction))
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		w := &Writer{Dir: dir, head: head, live: map[*Files]bool{}}
		if w.lock, err = hold(dir, syscall.LOCK_SH); err != nil {
			os.Remove(dir)
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
	name := filepath.Join(w.Dir, strconv.Itoa(w.jail))
	w.mu.Unlock()
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	journal, err := os.OpenFile(name+journalSuffix, flags|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	f := &Files{Journal: journal, name: name, writer: w}
	if f.Data, err = os.OpenFile(name+dataSuffix, flags, 0o600); err == nil {
		head := w.head
		head.Roots = roots
		err = f.write(&Record{word: wordHead, At: time.Now().UnixNano(), Head: &head})
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

// discard closes and removes the files.
func (f *Files) discard() {
	f.Journal.Close()
	os.Remove(f.name + journalSuffix)
	if f.Data != nil {
		f.Data.Close()
		os.Remove(f.name + dataSuffix)
	}
}

func (f *Files) write(r *Record) error { return f.append(r.append(nil)) }

// append appends lines to the journal. The supervisor appends too, and either write can be cut
// short: so the lines begin with a newline unless they are the first.
func (f *Files) append(lines []byte) error { return appendLines(f.Journal, lines) }

// appendLines appends lines to a journal.
func appendLines(journal *os.File, lines []byte) error {
	info, err := journal.Stat()
	if err != nil {
		return err
	}
	if info.Size() > 0 {
		lines = slices.Concat([]byte{'\n'}, lines)
	}
	if _, err = journal.Write(lines); err != nil {
		journal.Chmod(damagedMode)
	}
	return err
}

// BeginCall says that what the jail does from now on belongs to a call. It does nothing where the
// journal is full.
func (f *Files) BeginCall(c Call) error {
	if info, err := f.Journal.Stat(); err != nil || info.Size() > maxJournal {
		return err
	}
	return f.write(&Record{word: wordCall, At: time.Now().UnixNano(), Call: &c})
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
		records, _, err := readJournal(f.name+journalSuffix, 0)
		if err != nil {
			return
		}
		if changed = slices.ContainsFunc(records, func(r Record) bool { return r.Path != "" || r.word == wordGap }); !changed {
			f.discard()
			return
		}
		var lines []byte
		h := history([]*jail{{records: records}}, Selection{})
		for _, c := range h.Changes {
			if c.Known || h.gap != "" { // others can have changed it since the journal was full
				continue
			}
			st, err := lookPath(c.Path)
			if err != nil && err != unix.ELOOP {
				continue // it is not known
			}
			if err != nil {
				st = State{Kind: None}
			}
			lines = (&Record{word: wordNow, At: time.Now().UnixNano(), Path: c.Path, State: st}).append(lines)
		}
		f.append((&Record{word: wordEnd, At: time.Now().UnixNano()}).append(lines))
	})
	return changed
}

// Finished reports whether a call of Finish has done its work.
func (f *Files) Finished() bool { return f.finished.Load() }

// Close ends the session. A session without changes leaves nothing.
func (w *Writer) Close() {
	os.Remove(w.Dir) // if it is empty
	syscall.Close(w.lock)
}

// Sessions returns the sessions of the store, the latest first, and errors of those that cannot
// be read.
func (s Store) Sessions() (out []*Session, err error) {
	dirs, err := s.dirs()
	if err != nil {
		return nil, err
	}
	for _, dir := range slices.Backward(dirs) {
		one, e := ReadSession(dir)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		if len(one.jails) > 0 {
			out = append(out, one)
		}
	}
	return out, err
}

// dirs returns the directories of all sessions, the oldest first.
func (s Store) dirs() (dirs []string, err error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(s.Dir, e.Name()))
		}
	}
	return dirs, err
}

// Expire removes the sessions that are empty or older than age, and then the oldest until the
// others take at most total bytes. It leaves the sessions that run, and the newest one unless that
// is too old. It returns the names of the removed sessions that were not empty.
func (s Store) Expire(age time.Duration, total int64) (gone []string) {
	dirs, _ := s.dirs()
	newest := true
	for _, dir := range slices.Backward(dirs) {
		size, last, files := usage(dir)
		total -= size
		if fits := total >= 0 || newest; files > 0 && fits && time.Since(last) < age {
			newest = false
			continue
		}
		lock, err := hold(dir, syscall.LOCK_EX)
		if err != nil {
			continue
		}
		os.RemoveAll(dir)
		syscall.Close(lock)
		if files > 0 {
			gone = append(gone, filepath.Base(dir))
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
	return max(1, total-used.all), max(minJournal, maxJournal-used.journals)
}

// minJournal is enough for the head of a journal, and the record that it is full.
const minJournal = 4096

// ended counts the files of a jail that has ended.
func (w *Writer) ended(f *Files) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.live, f)
	w.used.add(f)
}

func (r *room) add(f *Files) {
	for _, suffix := range []string{journalSuffix, dataSuffix} {
		var st unix.Stat_t
		if unix.Stat(f.name+suffix, &st) != nil {
			continue
		}
		if r.all += st.Blocks * 512; suffix == journalSuffix {
			r.journals += st.Size
		}
	}
}

// usage returns what a session takes on the disk, when it was written last, and how many files it
// has.
func usage(dir string) (size int64, last time.Time, files int) {
	entries, _ := os.ReadDir(dir)
	if info, err := os.Stat(dir); err == nil {
		last = info.ModTime()
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			size += st.Blocks * 512
		}
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return size, last, len(entries)
}

// hold locks a directory until the descriptor is closed.
func hold(dir string, how int) (int, error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for try := 0; ; try++ { // isHeld holds it for a moment
		err = syscall.Flock(fd, how|syscall.LOCK_NB)
		if err == nil {
			return fd, nil
		}
		if try == 3 {
			syscall.Close(fd)
			return -1, err
		}
		time.Sleep(time.Millisecond)
	}
}

// isHeld reports whether a session runs.
func isHeld(dir string) bool {
	fd, err := hold(dir, syscall.LOCK_EX)
	if err != nil {
		return true
	}
	syscall.Close(fd)
	return false
}
