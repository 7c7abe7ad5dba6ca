package keeper

import (
	"strconv"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// Keeper records what is at paths before they change. Its methods may be called by several
// threads. A failure to keep something is recorded and told, and stops nothing.
type Keeper struct {
	Journal, Data int   // descriptors: the journal with O_APPEND, the data file
	SelfFD        int   // /proc/self/fd
	FileBytes     int64 // of a file, at most
	TotalBytes    int64 // of all files and of the journal, at most
	JournalBytes  int64 // of the journal, at most; 0: as much as TotalBytes allows
	// PerCall: each tools/call has records of its own. If another process has appended to the journal,
	// a call has begun: a path that was kept for an earlier call is kept again.
	PerCall bool
	// Open returns a function that reports whether the server has an inode open for writing. With
	// nil there are no sweeps: Files.Finish records what is left.
	Open func() func(inode uint64) bool
	// After calls a function of the keeper after a pause, on another goroutine. With nil it is
	// time.AfterFunc.
	After func(pause time.Duration, f func())
	// Outside runs a function on a thread that may read files which the calling thread may not. It may
	// be nil.
	Outside func(func())
	// Tell is called when something could not be kept, at most maxTold times. Names are quoted: the
	// server chooses them.
	Tell func(text string)

	mu      sync.Mutex
	opener  opener
	paths   map[string]*mark
	inodes  map[object.ID]*node // files that the server has opened for writing, or made
	pending map[string]*mark
	size    int64 // of the data file
	logged  int64 // the size of the journal, as far as it is known
	started bool
	told    int
	lost    string // what could not be kept last

	torn     bool                  // the journal ends within a line, or another process has appended to it
	overfull bool                  // nothing is kept any more
	running  [maxRunning]time.Time // when the system calls began that are being carried out
	timer    bool                  // a timer will call sweep
	pause    time.Duration         // before the next sweep
	buf      []byte
	lines    []byte  // records that flush writes
	batch    []*mark // the marks of the paths in lines
}

// node is what the keeper knows of a file that the server has opened for writing, or made.
type node struct {
	kept    bool // its content is on record, or need not be
	settled bool
	last    object.State // what was left; valid if settled
	copied  object.State // with which its content was copied last
}

const (
	maxTold    = 3
	maxRunning = 64
	firstSweep = 20 * time.Millisecond
)

// start prepares the keeper at its first use. With PerCall, start also notices the beginning of a
// call. The caller holds mu.
func (k *Keeper) start() {
	if !k.started {
		k.started = true
		k.paths, k.inodes, k.pending = map[string]*mark{}, map[object.ID]*node{}, map[string]*mark{}
		k.buf = make([]byte, 64<<10)
		k.opener = opener{k.SelfFD, k.Outside}
		if k.After == nil {
			k.After = func(pause time.Duration, f func()) { time.AfterFunc(pause, f) }
		}
		var st unix.Stat_t
		if unix.Fstat(k.Data, &st) == nil {
			k.size = st.Size
		}
		if unix.Fstat(k.Journal, &st) == nil {
			k.logged = st.Size
		}
	}
	if k.PerCall {
		var st unix.Stat_t
		if unix.Fstat(k.Journal, &st) == nil && st.Size != k.logged {
			k.logged, k.torn = st.Size, true
			for _, m := range k.paths {
				m.kept = false
			}
			for _, n := range k.inodes { // the server can still have one open
				n.kept = false
			}
		}
	}
}

// Begin says that a system call of the server is about to be carried out. Until the returned
// function is called, no sweep records what the server left at the paths that are kept from here
// on.
func (k *Keeper) Begin() (end func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.running {
		if k.running[i].IsZero() {
			k.running[i] = time.Now()
			return func() {
				k.mu.Lock()
				k.running[i] = time.Time{}
				k.mu.Unlock()
			}
		}
	}
	return func() {}
}

// Content keeps the content of the open file fd before it is changed through path.
func (k *Keeper) Content(fd int, path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start()
	st, err := object.Look(fd, "")
	if err != nil {
		k.missing(path, "it cannot be looked at: "+err.Error())
		return
	}
	k.content(fd, path, st)
}

func (k *Keeper) content(fd int, path string, st object.State) {
	if st.Kind != object.File || st.Nlink == 0 || k.full(path) {
		return
	}
	m, foreign := k.marked(path, &st)
	n := k.inodes[st.ID]
	edited := n != nil && n.settled && !isLeftAs(&n.last, &st) // perhaps by another name
	if n != nil {
		n.settled = false
	}
	if n == nil {
		n = &node{}
		k.inodes[st.ID] = n
	}
	if foreign = foreign || edited; n.kept && m.kept && !foreign {
		k.again(path, m)
		m.addCandidate(st)
		return
	}
	// The content is kept once, or once a call, and again if others wrote in between.
	if !n.kept || foreign {
		if st.Data, st.Lost = k.copy(fd, &st, &n.copied); st.Data != object.NoData {
			n.copied = st
		}
	}
	n.kept = k.record(path, m, st, foreign)
	m.addCandidate(st)
}

// Name keeps what is at a name in dir before the name is made, removed or replaced. path is
// the path of the name. With content, a file is about to lose this name: what it contains is
// kept too.
func (k *Keeper) Name(dir int, name, path string, content bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start()
	st := k.name(dir, name, path, content)
	if m := k.paths[path]; m != nil && (!content || st.Kind == object.None) {
		m.any = true // it is about to be made
	} else if m != nil {
		m.addCandidate(st)
	}
}

func (k *Keeper) name(dir int, name, path string, content bool) object.State {
	st, err := object.Look(dir, name)
	if err != nil {
		k.missing(path, "it cannot be looked at: "+err.Error())
		return object.State{}
	}
	if content && st.Kind == object.File {
		fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			defer unix.Close(fd)
			if now, err := object.Look(fd, ""); err == nil && now.ID == st.ID {
				k.content(fd, path, now)
				if now.Nlink > 1 { // the server leaves this state under its other names
					k.write((&journal.Record{Word: journal.WordLeft, At: time.Now().UnixNano(), Path: path, State: now}).Append(nil))
				}
				return now
			}
		}
		st.Lost = "it was replaced while it was being looked at"
	}
	if st.Kind == object.Dir {
		st.Masked = k.opener.maskedDir(dir, name)
	}
	k.state(path, st)
	return st
}

// Attributes keeps mode, owner and times of the open object fd before they change.
func (k *Keeper) Attributes(fd int, path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start()
	st, err := object.Look(fd, "")
	if err == nil && st.Nlink > 0 {
		k.state(path, st)
		if m := k.paths[path]; m != nil {
			m.addCandidate(st)
		}
		if n := k.inodes[st.ID]; n != nil {
			n.settled = false
		}
	}
}

// Rename keeps what is at two names before a rename. With exchange, both objects stay.
func (k *Keeper) Rename(fromDir int, fromName, from string, toDir int, toName, to string, exchange bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start()
	moved := k.name(fromDir, fromName, from, false)
	replaced := k.name(toDir, toName, to, !exchange)
	// Either object may be at either name afterwards: the rename can fail, or be an exchange.
	for _, path := range []string{from, to} {
		if m := k.paths[path]; m != nil {
			m.addCandidate(moved)
			m.addCandidate(replaced)
		}
	}
	var below, belowOther []string
	if moved.Kind == object.Dir {
		below = k.tree(fromDir, fromName, from)
	}
	if exchange && replaced.Kind == object.Dir {
		belowOther = k.tree(toDir, toName, to)
	}
	k.targets(to, below, replaced.Kind)
	k.targets(from, belowOther, moved.Kind)
	k.flush()
}

// Made says that the open file fd did not exist before, and has the name path now. Its content need
// not be kept.
func (k *Keeper) Made(fd int, path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start()
	st, err := object.Look(fd, "")
	if err != nil {
		return
	}
	k.inodes[st.ID] = &node{kept: true}
	if m := k.paths[path]; m != nil && m.pending && st.Nlink > 0 { // O_TMPFILE: path is that of its directory
		m.any = false
		m.addCandidate(st)
	}
}

// StandsFor says that a file, which has the name path or is to get it, stands for another one from
// now on.
func (k *Keeper) StandsFor(file object.State, path string, other object.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start()
	k.flush()
	k.write((&journal.Record{Word: journal.WordFor, At: time.Now().UnixNano(), Path: path, State: file, For: other}).Append(nil))
}

// NotMade says that a name that was about to be made exists already: another process has made
// it since Name.
func (k *Keeper) NotMade(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m := k.paths[path]; m != nil && m.pending {
		m.pending, m.any, m.candidates, m.last = false, false, nil, object.State{Kind: object.None}
		delete(k.pending, path)
	}
}

// marked returns the mark of a path, and whether a process outside has changed the path since
// the server left it.
func (k *Keeper) marked(path string, st *object.State) (m *mark, foreign bool) {
	m = k.paths[path]
	if m == nil {
		m = &mark{}
		k.paths[path] = m
	}
	return m, m.kept && !m.pending && !m.unknown && !isLeftAs(&m.last, st)
}

// maxCandidates bounds the objects that are remembered of a path.
const maxCandidates = 8

// state records a state without content, unless the path has a record and only the server has
// changed the path since.
func (k *Keeper) state(path string, st object.State) {
	if k.full(path) {
		return
	}
	m, foreign := k.marked(path, &st)
	if m.kept && !foreign {
		k.again(path, m)
	} else {
		k.record(path, m, st, foreign)
	}
}

// targets records what is at the new paths of what moves with a directory. Something does where
// the new name is that of a directory: then the rename fails, unless it is an exchange.
func (k *Keeper) targets(to string, below []string, kind object.Kind) {
	for _, rest := range below {
		path := to + rest
		if k.full(path) {
			return
		}
		st := object.State{Kind: object.None}
		if kind == object.Dir {
			var err error
			if st, err = object.LookPath(path); err == unix.ELOOP { // a link is in the way
				st = object.State{Kind: object.None}
			} else if err != nil {
				k.missing(path, "it cannot be looked at: "+err.Error())
				continue
			}
		}
		m, foreign := k.marked(path, &st)
		k.add(path, m, foreign, st)
		m.any = true
	}
}

func wordOf(foreign bool) string {
	if foreign {
		return journal.WordAnew
	}
	return journal.WordWas
}

func (k *Keeper) again(path string, m *mark) {
	if !m.pending {
		k.write((&journal.Record{Word: journal.WordOpen, Path: path}).Append(nil))
	}
	k.touch(path, m)
}

func (k *Keeper) record(path string, m *mark, st object.State, foreign bool) bool {
	r := journal.Record{Word: wordOf(foreign), At: time.Now().UnixNano(), Path: path, State: st}
	if m.missed && st.Kind != object.None {
		r.State.Data, r.State.Lost = object.NoData, "what stood there at first is not on record"
	}
	k.flush()
	m.kept = k.write(r.Append(make([]byte, 0, 256)))
	m.missed = !m.kept
	k.touch(path, m)
	if st.Lost != "" {
		k.tell(strconv.Quote(path) + ": " + st.Lost)
	}
	return m.kept
}
