package hostfs

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"io/fs"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// A Recording remembers the questions that a resolution asked its host about files, with a
// digest of every answer. As long as asking again gives the same answers, Resolve would return
// the same profile. The functions OwnGroup and Unmapped are not recorded: their
// answers are taken to stay the same.
type Recording struct {
	host Host

	mu        sync.Mutex
	questions []question
	trimmed   bool
	dirs      []recordedDir
	dirAt     map[string]int // path: index in dirs, or -1 if the state of the directory is not certain

	looking, next *look // of Unchanged; nil: there is none
}

// A look asks all questions again, for all callers of Unchanged that came before it began.
type look struct {
	over chan struct{} // closed when same is set
	same bool
}

// A question is one call of the host.
type question struct {
	ask    func(*Host, string) uint64
	path   string
	answer uint64
	dir    int // index in dirs: as long as the state of this directory is the same, so is the answer. Or -1
	kind   kind
}

// kind is what a question asks, as far as equal questions are looked for.
type kind int

const (
	kindOther kind = iota
	kindLstat
	kindReadlink
	kindReadDir
)

type recordedDir struct {
	path  string
	state DirState
}

// answers is the seed of the digests. It is random, so no process can prepare two answers
// with the same digest.
var answers = maphash.MakeSeed()

// Record returns a host that answers as h does and records every call of Lstat, Readlink,
// ReadDir and ReadHead, and on macOS the spellings of names. Only one recording host of a Recording may be in use.
func (r *Recording) Record(h Host) Host {
	r.host, r.questions, r.trimmed, r.dirs, r.dirAt = h, nil, false, nil, map[string]int{}
	through := h
	through.recording = r
	through.Lstat = func(path string) (FileInfo, error) {
		info, err := h.Lstat(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			r.addIn(-1, kindLstat, askLstat, path, digestInfo(info, err))
			return info, err
		}
		dir, known := r.enter(parent(path))
		if !known { // its state may be younger than the answer
			info, err = h.Lstat(path)
		}
		if err == nil {
			dir = -1
		}
		r.addIn(dir, kindLstat, askLstat, path, digestInfo(info, err))
		return info, err
	}
	through.Readlink = func(path string) (string, error) {
		// While the directory is the same, the name is that of the same link, and no link gets another target.
		dir, _ := r.enter(parent(path))
		target, err := h.Readlink(path)
		if err != nil {
			dir = -1
		}
		r.addIn(dir, kindReadlink, askReadlink, path, digestBytes([]byte(target), err))
		return target, err
	}
	through.ReadDir = func(path string) ([]DirEntry, error) {
		dir, _ := r.enter(path)
		entries, err := h.ReadDir(path)
		if err != nil {
			dir = -1
		}
		r.addIn(dir, kindReadDir, askReadDir, path, digestEntries(entries, err))
		return entries, err
	}
	through.ReadHead = func(path string, n int) ([]byte, error) {
		head, err := h.ReadHead(path, n)
		r.add(askReadHead(n), path, digestBytes(head, err))
		return head, err
	}
	return through
}

func (r *Recording) add(what func(*Host, string) uint64, path string, answer uint64) {
	r.addIn(-1, kindOther, what, path, answer)
}

func (r *Recording) addIn(dir int, k kind, what func(*Host, string) uint64, path string, answer uint64) {
	r.mu.Lock()
	r.questions = append(r.questions, question{what, path, answer, dir, k})
	r.mu.Unlock()
}

// trim leaves out, once, what need not be asked for again: a question that was asked before with the same answer,
// and a directory's attributes if its state has them.
func (r *Recording) trim() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trimmed {
		return
	}
	r.trimmed = true
	type same struct {
		kind   kind
		path   string
		answer uint64
	}
	seen := map[same]bool{}
	r.questions = slices.DeleteFunc(r.questions, func(q question) bool {
		key := same{q.kind, q.path, q.answer}
		again := q.kind != kindOther && seen[key]
		seen[key] = true
		return again
	})
	for i := range r.questions {
		q := &r.questions[i]
		at, known := r.dirAt[q.path]
		// The attributes were asked for at another time than the state, and may be others.
		if q.kind == kindLstat && known && at >= 0 && q.answer == digestInfo(r.dirs[at].state.info(), nil) {
			q.dir = at
		}
	}
}

// enter returns the index of a directory in dirs, or -1 if its state is not certain. known says that the
// state was recorded before.
func (r *Recording) enter(path string) (at int, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, known = r.dirAt[path]; known {
		return at, true
	}
	at = -1
	if r.host.DirState != nil {
		if state, ok := r.host.DirState(path, true); ok {
			at, r.dirs = len(r.dirs), append(r.dirs, recordedDir{path, state})
		}
	}
	r.dirAt[path] = at
	return at, false
}

func parent(name string) string { return path.Dir(name) }

// open returns the questions that must be asked again: those that no directory answers.
func (r *Recording) open() []question {
	same := make([]bool, len(r.dirs))
	for i, d := range r.dirs {
		now, ok := r.host.DirState(d.path, false)
		same[i] = ok && now == d.state
	}
	open := make([]question, 0, len(r.questions))
	for _, q := range r.questions {
		if q.dir < 0 || !same[q.dir] {
			open = append(open, q)
		}
	}
	return open
}

// Unchanged asks the host all questions again whose answers may be other ones. It returns false at the
// first different answer, and if no question was asked.
//
// Callers that come while the host is being asked share the answer of asking once more. So each gets an answer
// from after its call.
func (r *Recording) Unchanged() bool {
	r.mu.Lock()
	if r.next != nil { // it has not begun
		mine := r.next
		r.mu.Unlock()
		<-mine.over
		return mine.same
	}
	mine, before := &look{over: make(chan struct{})}, r.looking
	if before != nil {
		r.next = mine
		r.mu.Unlock()
		<-before.over
		r.mu.Lock()
		r.next = nil
	}
	r.looking = mine
	r.mu.Unlock()
	mine.same = r.lookAgain()
	r.mu.Lock()
	r.looking = nil
	r.mu.Unlock()
	close(mine.over)
	return mine.same
}

func (r *Recording) lookAgain() bool {
	r.trim()
	asked := r.open()
	const parts, few = 4, 256 // less than few questions are not worth other goroutines
	if len(asked) < few {
		return len(r.questions) > 0 && r.unchanged(asked, new(atomic.Bool))
	}
	// The questions are independent, so parts of them are asked at the same time.
	var other atomic.Bool
	var all sync.WaitGroup
	for i := range parts {
		part := asked[i*len(asked)/parts : (i+1)*len(asked)/parts]
		all.Go(func() {
			if !r.unchanged(part, &other) {
				other.Store(true)
			}
		})
	}
	all.Wait()
	return !other.Load()
}

func (r *Recording) unchanged(asked []question, other *atomic.Bool) bool {
	for _, q := range asked {
		if q.ask(&r.host, q.path) != q.answer || other.Load() {
			return false
		}
	}
	return true
}

func askLstat(h *Host, path string) uint64 { return digestInfo(h.Lstat(path)) }

func askReadlink(h *Host, path string) uint64 {
	target, err := h.Readlink(path)
	return digestBytes([]byte(target), err)
}

func askReadDir(h *Host, path string) uint64 { return digestEntries(h.ReadDir(path)) }

func askReadHead(n int) func(*Host, string) uint64 {
	return func(h *Host, path string) uint64 { return digestBytes(h.ReadHead(path, n)) }
}

// digestInfo returns a digest without Links, which no resolution uses: the link count of a
// directory changes with every subdirectory.
func digestInfo(info FileInfo, err error) uint64 {
	var b [40]byte
	le := binary.LittleEndian
	le.PutUint32(b[0:], uint32(info.Mode))
	le.PutUint64(b[4:], info.ID.Dev)
	le.PutUint64(b[12:], info.ID.Ino)
	le.PutUint64(b[20:], uint64(info.ID.Birth))
	le.PutUint64(b[28:], uint64(info.UID))
	le.PutUint32(b[36:], uint32(info.GID))
	return digestBytes(b[:], err)
}

// digestEntries returns a digest that does not depend on the order of the entries, which a
// directory does not guarantee.
func digestEntries(entries []DirEntry, err error) uint64 {
	sum := digestBytes(nil, err)
	for _, e := range entries {
		var h maphash.Hash
		h.SetSeed(answers)
		h.WriteString(e.Name)
		h.Write([]byte{'/', byte(e.Type >> 24), byte(e.Type >> 16)}) // no name has a slash
		sum += h.Sum64()
	}
	return sum
}

func digestBytes(b []byte, err error) uint64 {
	var h maphash.Hash
	h.SetSeed(answers)
	h.Write(b)
	writeError(&h, err)
	return h.Sum64()
}

// writeError distinguishes errors by errno or sentinel. Their texts may change.
func writeError(h *maphash.Hash, err error) {
	var errno syscall.Errno
	switch {
	case err == nil:
		h.WriteByte(0)
	case errors.As(err, &errno):
		h.Write([]byte{1, byte(errno), byte(errno >> 8)})
	case errors.Is(err, fs.ErrNotExist):
		h.WriteByte(2)
	default:
		h.WriteByte(3)
		h.WriteString(err.Error())
	}
}
