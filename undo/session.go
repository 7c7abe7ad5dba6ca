package undo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Session is what was kept of one session of a server.
type Session struct {
	ID      string
	Dir     string
	Head    Head
	Started time.Time
	Running bool
	Ended   bool // all of its jails have recorded what they left
	Calls   []Call
	Gaps    []Gap // what is not known of it
	jails   []*jail
	numbers []int // of the jails' files
}

// Empty reports whether the session has changed nothing so far.
func (s *Session) Empty() bool { return len(s.History(Selection{}).Changes) == 0 }

// Touches reports whether the session changed something in a selection.
func (s *Session) Touches(sel Selection) bool {
	return slices.ContainsFunc(s.History(sel).Changes, func(c Change) bool { return selected(c.Path, sel.Paths) })
}

// History adds up what the session did.
func (s *Session) History(sel Selection) *History { return history(s.jails, sel) }

// DataFile returns the file that has the contents of a jail's states.
func (s *Session) DataFile(jail int) string {
	return filepath.Join(s.Dir, strconv.Itoa(s.numbers[jail])+dataSuffix)
}

func (s *Session) journalFile(jail int) string {
	return filepath.Join(s.Dir, strconv.Itoa(s.numbers[jail])+journalSuffix)
}

const (
	journalSuffix = ".journal"
	dataSuffix    = ".data"
)

// damagedMode is the mode of a journal from which a record is missing. To set it takes no space on
// the disk.
const damagedMode = 0o700

// ReadSession reads the journals of a session.
func ReadSession(dir string) (*Session, error) {
	s := &Session{ID: filepath.Base(dir), Dir: dir, Ended: true, Running: isHeld(dir)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, isJournal := strings.CutSuffix(e.Name(), journalSuffix)
		n, err := strconv.Atoi(name)
		if isJournal && err == nil {
			s.numbers = append(s.numbers, n)
		}
	}
	slices.Sort(s.numbers)
	for i, n := range s.numbers {
		file := filepath.Join(dir, strconv.Itoa(n)+journalSuffix)
		records, damaged, err := readJournal(file, i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if damaged {
			s.Gaps = append(s.Gaps, Gap{Why: whyDamaged})
		}
		s.addJail(&jail{records: records, running: s.Running, alive: lastSign(file, s.DataFile(i)), damaged: damaged})
	}
	return s, nil
}

// readJournal reads a journal. damaged reports whether a record is missing.
func readJournal(file string, jail int) (records []Record, damaged bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	records, damaged, err = parseJournal(f, jail)
	return records, damaged || info.Mode().Perm() == damagedMode, err
}

func (s *Session) addJail(j *jail) {
	s.jails = append(s.jails, j)
	ended := false
	for i := range j.records {
		switch r := &j.records[i]; r.word {
		case wordHead:
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
		case wordGap:
			s.Gaps = append(s.Gaps, *r.Gap)
		case wordEnd:
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
func lastSign(files ...string) (at int64) {
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			at = max(at, info.ModTime().UnixNano())
		}
	}
	return at
}
