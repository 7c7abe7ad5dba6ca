package keeper

import (
	"slices"
	"strconv"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

func (k *Keeper) touch(path string, m *mark) {
	if k.overfull {
		return // the state that is left there cannot be recorded
	}
	m.touched, m.unknown = time.Now(), false
	k.pause = min(k.pause, 4*firstSweep)
	if m.pending {
		return
	}
	m.pending, m.seen = true, false
	k.pending[path] = m
	if !k.timer && k.Open != nil {
		k.timer, k.pause = true, firstSweep
		k.After(k.pause, k.sweep)
	}
}

// sweepAtOnce is how many paths a sweep looks at before it lets other threads keep something.
const sweepAtOnce = 64

// sweep records what the server left at the pending paths. A path that a process still has open for
// writing stays pending, and is looked at again. As long as there are pending paths, the time of
// the data file shows that the session lives.
func (k *Keeper) sweep() {
	k.mu.Lock()
	before := time.Now()
	// A call that is being carried out may still change what it touched.
	for _, t := range k.running {
		if !t.IsZero() && t.Before(before) {
			before = t
		}
	}
	var due []string
	for path, m := range k.pending {
		if m.touched.Before(before) {
			due = append(due, path)
		}
	}
	var open func(uint64) bool
	if len(due) > 0 && k.Open != nil {
		k.mu.Unlock() // it takes a while
		open = k.Open()
		slices.Sort(due)
		k.mu.Lock()
	}
	for len(due) > 0 {
		n := min(len(due), sweepAtOnce)
		for _, path := range due[:n] {
			if m := k.pending[path]; m != nil && m.touched.Before(before) {
				k.settle(path, m, open)
			}
		}
		k.flush()
		due = due[n:]
		k.mu.Unlock() // another thread may keep something meanwhile
		k.mu.Lock()
	}
	defer k.mu.Unlock()
	if len(k.pending) == 0 {
		k.timer = false
		return
	}
	k.Live()
	k.pause = min(2*k.pause, journal.LastSweep)
	k.After(k.pause, k.sweep)
}

// settle records what is at a path if the server cannot change it without a further system
// call. A file that the server has opened for writing or made must look the same twice: a process
// could have handed the descriptor on while Open looked at the other processes.
func (k *Keeper) settle(path string, m *mark, open func(inode uint64) bool) {
	st, err := object.LookPath(path)
	switch {
	case err == unix.ELOOP: // a link is in the way: nothing of the server's is there
		st = object.State{Kind: object.None}
	case err != nil: // there is no record of it, so Files.Finish tries again
		*m = mark{kept: m.kept, missed: m.missed, unknown: true}
		delete(k.pending, path)
		return
	}
	n := k.inodes[st.ID]
	switch {
	case !m.isServers(&st): // others have put it there
		st = m.candidates[len(m.candidates)-1]
	case st.Kind == object.File && n != nil:
		if open(st.ID.Ino) {
			m.seen = false
			return
		}
		if !m.seen || !m.last.SameObject(&st) {
			m.seen, m.last = true, st
			return
		}
		n.settled, n.last = true, st
	}
	*m = mark{kept: m.kept, missed: m.missed, last: st}
	delete(k.pending, path)
	k.lines = (&journal.Record{Word: journal.WordNow, At: time.Now().UnixNano(), Path: path, State: st}).Append(k.lines)
}

// Live notes in the time of the data file that the session lives.
func (k *Keeper) Live() {
	now := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_NOW}}
	unix.UtimesNanoAt(k.SelfFD, strconv.Itoa(k.Data), now, 0)
}
