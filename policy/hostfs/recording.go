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
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
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

	looking sync.Mutex // of Unchanged
	all     look
	below   look
}

// A question is one call of the host.
type question struct {
	path   string
	ask    func(*Host) uint64
	answer uint64
}

// A look is asking the host again.
type look struct {
	begun atomic.Int64 // how many have
	same  bool         // the answer of the last one
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
// ReadDir and ReadHead. Only one recording host of a Recording may be in use.
func (r *Recording) Record(h Host) Host {
	r.host, r.questions, r.asked = h, nil, map[asked]bool{}
	through := h
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
		state := settled(&h, path)
		entries, err := h.ReadDir(path)
		answer := digestEntries(entries, err)
		r.add("list", path, answer, func(h *Host) uint64 {
			now := settled(h, path)
			if now != state || now == (FileInfo{}) {
				if other := digestEntries(h.ReadDir(path)); other != answer {
					return other
				}
				state = now
			}
			return answer
		})
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
		r.questions = append(r.questions, question{path, ask, answer})
	}
}

// Unchanged asks the host all questions again, or only those about some files and directories and what is below them.
// It returns false at the first different answer, and if no question was asked.
//
// Callers that come while the host is being asked share the answer of asking once more. So each gets an answer
// from after its call. All callers that name files name the same ones.
func (r *Recording) Unchanged(below ...string) bool {
	l, asks := &r.all, func(question) bool { return true }
	if len(below) > 0 {
		l, asks = &r.below, func(q question) bool {
			return slices.ContainsFunc(below, func(dir string) bool { return policy.Within(q.path, dir) })
		}
	}
	before := l.begun.Load()
	r.looking.Lock()
	defer r.looking.Unlock()
	if l.begun.Load() == before { // else one began after this call
		l.begun.Add(1)
		changed := func(q question) bool { return asks(q) && q.ask(&r.host) != q.answer }
		l.same = slices.ContainsFunc(r.questions, asks) && !slices.ContainsFunc(r.questions, changed)
	}
	return l.same
}

// settle is how long ago a directory must have changed for its state to stand for its entries. A change that comes
// later has another time then, however coarse the clock of the filesystem.
const settle = 10 * time.Second

// settled returns the state of a directory, which stays the same as long as its entries do: no program can set the
// time of a change. The zero value says that the entries must be read: where the system or the filesystem does not
// know when a file was made, and where times are whole seconds, as on FAT, on which programs do set that time.
func settled(h *Host, dir string) FileInfo {
	info, err := h.Lstat(dir)
	if err != nil || !info.Mode.IsDir() || info.ID.Birth == 0 || info.Changed%int64(time.Second) == 0 || time.Since(time.Unix(0, info.Changed)) < settle {
		return FileInfo{}
	}
	return info
}

// digestInfo returns a digest without Links and Changed, which no resolution uses: those of a
// directory change with its entries.
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
