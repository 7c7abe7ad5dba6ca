package undo

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Events returns what has changed. A state that is not on record is looked up.
func (s *Session) Events(sel Selection) []Event {
	return s.History(sel).Events(func(path string) State {
		now, err := lookPath(path)
		if err == unix.ELOOP {
			return State{Kind: None}
		}
		return now // without a kind if it cannot be looked at
	})
}

// maxDiff bounds the size of a file whose difference is shown.
const maxDiff = 1 << 20

// Diff returns how a file differs from what stood there before.
func (s *Session) Diff(sel Selection, e Event) string {
	h := s.History(sel)
	for i := range h.Changes {
		c := &h.Changes[i]
		if c.Path != e.Path {
			continue
		}
		want := h.before(c)
		before, err := s.kept(&want)
		if err != "" {
			return "(" + err + ")\n"
		}
		path := e.Path
		if e.To != "" {
			path = e.To
		}
		after, err := contentOf(path)
		if err != "" {
			return "(" + err + ")\n"
		}
		if want.Kind == File && want.Data == NoData {
			return "" // it was only moved, or its attributes were changed
		}
		return Diff(e.Path, before, after)
	}
	return ""
}

// kept returns what was kept of a file, or why that is not shown.
func (s *Session) kept(want *State) ([]byte, string) {
	switch {
	case want.Kind == Link:
		return []byte("symbolic link to " + want.Target), ""
	case want.Kind != File || want.Data == NoData:
		return nil, want.Lost
	case want.Size > maxDiff:
		return nil, "it is too large to be shown"
	}
	data, err := s.open(want.Jail, dataSuffix, os.O_RDONLY)
	if err != nil {
		return nil, err.Error()
	}
	defer data.Close()
	b := make([]byte, want.Size)
	if n, err := data.ReadAt(b, want.Data); n < len(b) {
		return nil, err.Error()
	}
	return b, ""
}

// contentOf returns what a file has now, or why that is not shown.
func contentOf(path string) ([]byte, string) {
	p, err := openPlace(path)
	if err != nil {
		return nil, ""
	}
	defer p.close()
	now, err := look(p.dir, p.name)
	switch {
	case err != nil:
		return nil, err.Error()
	case now.Kind == Link:
		return []byte("symbolic link to " + now.Target), ""
	case now.Kind != File:
		return nil, ""
	case now.Size > maxDiff:
		return nil, "it is too large to be shown"
	}
	var b []byte
	err = p.onObject(func(name string, _ State) error {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), strconv.Quote(path))
		defer f.Close()
		b = make([]byte, now.Size)
		n, err := f.ReadAt(b, 0)
		if b = b[:n]; n > 0 {
			err = nil
		}
		return err
	})
	if err != nil && now.Size > 0 {
		return nil, err.Error()
	}
	return b, ""
}
