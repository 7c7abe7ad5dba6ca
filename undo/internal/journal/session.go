package journal

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
)

// Session is what was kept of one session of a server.
type Session struct {
	ID      string
	Head    Head
	Started time.Time
	Running bool
	Ended   bool // all of its jails have recorded what they left
	Calls   []Call
	Gaps    []Gap // what is not known of it
	jails   []*jail
	numbers []int // of the jails' files
	store   Store
}

// Empty reports whether the session has changed nothing so far.
func (s *Session) Empty() bool { return len(s.History(Selection{}).Changes) == 0 }

// Touches reports whether the session changed something in a selection.
func (s *Session) Touches(sel Selection) bool {
	return slices.ContainsFunc(s.History(sel).Changes, func(c Change) bool { return Selected(c.Path, sel.Paths) })
}

// History adds up what the session did.
func (s *Session) History(sel Selection) *History { return history(s.jails, sel) }

func openFile(s *Session, jail int, suffix string, flag int) (*os.File, error) {
	dir, err := s.store.open(private.Open, s.ID)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.OpenFile(strconv.Itoa(s.numbers[jail])+suffix, flag, 0)
}

// OpenData opens the data file of a jail.
func OpenData(s *Session, jail int) (*os.File, error) {
	return openFile(s, jail, DataSuffix, os.O_RDONLY)
}

// LastSigns returns for each jail of a session the last moment at which it is known to have lived, in
// nanoseconds since 1970.
func LastSigns(s *Session) (at []int64) {
	for _, j := range s.jails {
		at = append(at, j.alive)
	}
	return at
}

const (
	JournalSuffix = ".journal"
	DataSuffix    = ".data"
)

// DamagedMode is the mode of a journal from which a record is missing. To set it takes no space on
// the disk.
const DamagedMode = 0o700

// Store is the directory with the kept sessions of a server.
type Store struct {
	Dir string
	// Base is a directory above Dir, below which no symbolic link is followed. "" is Dir.
	Base string
}

func (s Store) open(how func(base, below string) (*private.Dir, error), names ...string) (*private.Dir, error) {
	base := cmp.Or(s.Base, s.Dir)
	below, err := filepath.Rel(base, filepath.Join(s.Dir, filepath.Join(names...)))
	if err != nil {
		return nil, err
	}
	return how(base, below)
}

// Session reads the journals of a session.
func (s Store) Session(id string) (*Session, error) {
	dir, err := s.open(private.Open, id)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	out := &Session{ID: id, Ended: true, Running: isHeld(dir), store: s}
	entries, err := dir.Names()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, isJournal := strings.CutSuffix(e.Name(), JournalSuffix)
		n, err := strconv.Atoi(name)
		if isJournal && err == nil {
			out.numbers = append(out.numbers, n)
		}
	}
	slices.Sort(out.numbers)
	for i, n := range out.numbers {
		name := strconv.Itoa(n)
		records, damaged, err := readJournal(dir, name+JournalSuffix, i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(s.Dir, id, name+JournalSuffix), err)
		}
		if damaged {
			out.Gaps = append(out.Gaps, Gap{Why: WhyDamaged})
		}
		out.addJail(&jail{records: records, running: out.Running, alive: lastSign(dir, name+JournalSuffix, name+DataSuffix), damaged: damaged})
	}
	return out, nil
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

// readJournal reads a journal. damaged reports whether a record is missing.
func readJournal(dir *private.Dir, name string, jail int) (records []Record, damaged bool, err error) {
	f, err := dir.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	records, damaged, err = parseJournal(f, jail)
	return records, damaged || info.Mode().Perm() == DamagedMode, err
}

func (s *Session) addJail(j *jail) {
	s.jails = append(s.jails, j)
	ended := false
	for i := range j.records {
		switch r := &j.records[i]; r.Word {
		case WordHead:
			if at := time.Unix(0, r.At); s.Started.IsZero() || at.Before(s.Started) {
				s.Started = at
			}
			roots := s.Head.Roots
			s.Head = *r.Head
			s.Head.Roots = slices.Compact(slices.Sorted(slices.Values(slices.Concat(roots, r.Head.Roots)))) // each jail has its own
		case wordCall:
			if !slices.ContainsFunc(s.Calls, func(c Call) bool { return c.Number == r.Call.Number }) {
				s.Calls = append(s.Calls, *r.Call)
			}
		case WordGap:
			s.Gaps = append(s.Gaps, *r.Gap)
		case WordEnd:
			ended, j.alive = true, r.At
		}
	}
	slices.SortFunc(s.Calls, func(a, b Call) int { return a.Number - b.Number })
	if ended {
		j.running = false
	}
	s.Ended = s.Ended && ended
}

// lastSign returns when files were written last, in nanoseconds since 1970.
func lastSign(dir *private.Dir, names ...string) (at int64) {
	for _, name := range names {
		if info, err := dir.Lstat(name); err == nil {
			at = max(at, info.ModTime().UnixNano())
		}
	}
	return at
}
