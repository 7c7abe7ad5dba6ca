package hostfs

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"io/fs"
	"slices"
	"strconv"
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
	asked     map[asked]bool

	looking sync.Mutex   // of Unchanged
	looks   atomic.Int64 // that have begun
	same    bool         // the answer of the last one
}

// A question is one call of the host.
type question struct {
	ask    func(*Host) uint64
	answer uint64
}

// asked is a question and its answer. Many are asked more than once.
type asked struct {
	what, path string
	answer     uint64
}

// answers is the seed of the digests. It is random, so no process can prepare two answers
// with the same digest.
var answers = maphash.MakeSeed()

// Record returns a host that answers as h does and records every call of Lstat, Readlink,
// ReadDir and ReadHead, and on macOS the spellings of names. Only one recording host of a Recording may be in use.
func (r *Recording) Record(h Host) Host {
	r.host, r.questions, r.asked = h, nil, map[asked]bool{}
	through := h
	through.Followed, through.recording = nil, r
	through.Lstat = func(path string) (FileInfo, error) {
		info, err := h.Lstat(path)
		r.add("lstat", path, digestInfo(info, err), func(h *Host) uint64 { return digestInfo(h.Lstat(path)) })
		return info, err
	}
	through.Readlink = func(path string) (string, error) {
		target, err := h.Readlink(path)
		r.add("readlink", path, digestText(target, err), func(h *Host) uint64 { return digestText(h.Readlink(path)) })
		return target, err
	}
	through.ReadDir = func(path string) ([]DirEntry, error) {
		entries, err := h.ReadDir(path)
		r.add("list", path, digestEntries(entries, err), func(h *Host) uint64 { return digestEntries(h.ReadDir(path)) })
		return entries, err
	}
	through.ReadHead = func(path string, n int) ([]byte, error) {
		head, err := h.ReadHead(path, n)
		r.add("read "+strconv.Itoa(n), path, digestBytes(head, err), func(h *Host) uint64 { return digestBytes(h.ReadHead(path, n)) })
		return head, err
	}
	return through
}

func (r *Recording) add(what, path string, answer uint64, ask func(*Host) uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key := (asked{what, path, answer}); !r.asked[key] {
		r.asked[key] = true
		r.questions = append(r.questions, question{ask, answer})
	}
}

// Unchanged asks the host all questions again. It returns false at the first different answer, and if no question was
// asked.
//
// Callers that come while the host is being asked share the answer of asking once more. So each gets an answer
// from after its call.
func (r *Recording) Unchanged() bool {
	before := r.looks.Load()
	r.looking.Lock()
	defer r.looking.Unlock()
	if r.looks.Load() == before { // else one began after this call
		r.looks.Add(1)
		changed := func(q question) bool { return q.ask(&r.host) != q.answer }
		r.same = len(r.questions) > 0 && !slices.ContainsFunc(r.questions, changed)
	}
	return r.same
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

func digestText(text string, err error) uint64 { return digestBytes([]byte(text), err) }

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
