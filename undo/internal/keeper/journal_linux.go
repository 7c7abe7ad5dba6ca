package keeper

import (
	"strconv"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

const (
	maxPaths   = 300_000
	gapReserve = 512 // of the journal, for the record that it is full
)

func (k *Keeper) journalBytes() int64 {
	most := min(journal.MaxJournal, k.TotalBytes/8)
	if k.JournalBytes > 0 {
		most = min(most, k.JournalBytes)
	}
	return most
}

// full reports whether nothing more is kept. It overflows the keeper if path is one path too many,
// or if there are too many files: a server could name and make ever new ones.
func (k *Keeper) full(path string) bool {
	if !k.overfull && (k.paths[path] == nil && len(k.paths) >= maxPaths || len(k.inodes) > maxPaths) {
		k.overflow()
	}
	if k.overfull {
		k.lost = "the server has changed so much that no more is kept in this session"
	}
	return k.overfull
}

func (k *Keeper) overflow() {
	k.overfull = true
	k.lines, k.batch = k.lines[:0], nil
	clear(k.pending)
	k.append((&journal.Record{Word: journal.WordGap, At: time.Now().UnixNano(), Gap: &journal.Gap{Why: journal.WhyOverfull}}).Append(nil))
	k.tell("the server has changed so much that no more is kept in this session")
}

func (k *Keeper) missing(path, why string) {
	k.flush()
	k.write((&journal.Record{Word: journal.WordGap, At: time.Now().UnixNano(), Gap: &journal.Gap{Path: path, Why: why}}).Append(nil))
	k.tell(strconv.Quote(path) + ": " + why)
}

func (k *Keeper) write(lines []byte) bool {
	if !k.overfull && k.logged+int64(len(lines))+gapReserve > k.journalBytes() {
		k.overflow()
	}
	return !k.overfull && k.append(lines)
}

// append appends lines. The process that starts the jails appends to the journal too (Files), and
// each write may be cut short.
func (k *Keeper) append(lines []byte) bool {
	var st unix.Stat_t
	if k.torn || unix.Fstat(k.Journal, &st) == nil && st.Size != k.logged {
		lines = append([]byte{'\n'}, lines...)
	}
	n, err := unix.Write(k.Journal, lines)
	k.logged += int64(max(n, 0))
	if k.torn = err != nil || n != len(lines); !k.torn {
		return true
	}
	unix.Fchmodat(k.SelfFD, strconv.Itoa(k.Journal), journal.DamagedMode, 0)
	k.tell("the journal cannot be written: " + reason(err))
	return false
}

// add records a state, unless the path has a record and only the server has changed it since. flush
// writes the lines that it collects.
func (k *Keeper) add(path string, m *mark, foreign bool, st object.State) {
	if m.kept && !foreign {
		k.again(path, m)
		return
	}
	r := journal.Record{Word: wordOf(foreign), At: time.Now().UnixNano(), Path: path, State: st}
	m.kept = true
	k.touch(path, m)
	k.lines = r.Append(k.lines)
	k.batch = append(k.batch, m)
	if len(k.lines) > 32<<10 {
		k.flush()
	}
}

func (k *Keeper) flush() {
	if len(k.lines) > 0 && !k.write(k.lines) {
		for _, m := range k.batch {
			m.kept, m.missed = false, true
		}
	}
	k.lines, k.batch = k.lines[:0], k.batch[:0]
}

func (k *Keeper) tell(text string) {
	k.lost = text
	if k.told++; k.told <= maxTold && k.Tell != nil {
		k.Tell(text)
	}
}

// TakeLost returns what could not be kept last, or "", and forgets it.
func (k *Keeper) TakeLost() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	lost := k.lost
	k.lost = ""
	return lost
}

// reason returns the text of an error; a write that was cut short has none.
func reason(err error) string {
	if err == nil {
		return "no space is left"
	}
	return err.Error()
}
