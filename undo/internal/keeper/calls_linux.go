package keeper

import (
	"maps"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// CallBegins gives each file that the server still has open for writing a record of its own in the
// call that has just begun: no supervisor sees what is written there. The record of the call must
// be in the journal already. CallBegins does nothing unless PerCall is set.
func (k *Keeper) CallBegins() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.PerCall || k.Open == nil || len(k.pending) == 0 {
		return
	}
	k.start()
	k.mu.Unlock() // it takes a while
	open, paths := k.Open(), k.Pending()
	k.mu.Lock()
	for _, path := range paths {
		if m := k.pending[path]; m != nil {
			k.keepOpen(path, m, open)
		}
	}
}

// Pending returns the paths that the server may have changed, and of which there is no record yet of
// what it left.
func (k *Keeper) Pending() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.pending))
}

// keepOpen records what an earlier call has left in a file that is still open, and keeps that for
// the call that has begun.
func (k *Keeper) keepOpen(path string, m *mark, open func(inode uint64) bool) {
	fd, err := object.OpenPath(path, 0)
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP:
		return // no file of the server's has this name
	case err != nil:
		k.missing(path, "the server may have it open, and it cannot be looked at: "+err.Error())
		return
	}
	defer unix.Close(fd)
	st, err := object.Look(fd, "")
	n := k.inodes[st.ID]
	if err != nil || st.Kind != object.File || n == nil || !m.isServers(&st) || !open(st.ID.Ino) {
		return // settle records what is left
	}
	if m.kept && n.kept { // the server has changed it since the call began
		return
	}
	if !m.kept {
		k.lines = (&journal.Record{Word: journal.WordNow, At: time.Now().UnixNano(), Path: path, State: st}).Append(k.lines)
	}
	k.content(fd, path, st)
}

// isCopied reports whether the open file fd has the content that was copied with a state. The times
// alone do not tell: a write through a mapping need not change them.
func (k *Keeper) isCopied(fd int, st, copied *object.State) bool {
	return copied.SameObject(st) && object.EqualContent(k.Data, copied.Data, fd, 0, st.Size, k.buf)
}

// mark is what the keeper knows of a path.
type mark struct {
	kept       bool // it has a record of what was there
	missed     bool // that record could not be written
	pending    bool // it may change; there is no record yet of what is left
	unknown    bool // it could not be looked at
	touched    time.Time
	last       object.State   // what was left there; valid if !pending and !unknown, or seen
	seen       bool           // it is pending, and was last when it was looked at
	candidates []object.State // while it is pending: the objects that the server may have left there
	any        bool           // the server may have left any object
}

// isLeftAs reports whether the server alone has changed an object since it was left. The server
// gives and takes names of a file under other paths than that of the mark, which changes the time.
func isLeftAs(s, now *object.State) bool {
	return s.SameObject(now) || max(s.Nlink, now.Nlink) > 1 && s.SameButTime(now)
}

func (m *mark) addCandidate(st object.State) {
	i := slices.IndexFunc(m.candidates, func(s object.State) bool { return s.ID == st.ID })
	switch {
	case !m.pending, m.any, st.Kind == object.None, st.Kind == 0:
	case i >= 0:
		m.candidates[i] = st
	case len(m.candidates) == maxCandidates:
		m.any = true
	default:
		m.candidates = append(m.candidates, st)
	}
}

func (m *mark) isServers(st *object.State) bool {
	return st.Kind == object.None || m.any || len(m.candidates) == 0 || slices.ContainsFunc(m.candidates, func(s object.State) bool { return s.ID == st.ID })
}
