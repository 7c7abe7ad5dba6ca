package journal

import (
	"os"
	"strconv"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// Events returns what has changed. A state that is not on record is looked up.
func (s *Session) Events(sel Selection) []Event {
	return s.History(sel).Events(func(path string) object.State {
		now, err := object.LookPath(path)
		if err == unix.ELOOP {
			return object.State{Kind: object.None}
		}
		return now // without a kind if it cannot be looked at
	})
}

// maxDiff bounds the size of a file whose difference is shown.
const maxDiff = 1 << 20

// Diff returns how a file differs from what was there before.
func (s *Session) Diff(sel Selection, e Event) string {
	h := s.History(sel)
	for i := range h.Changes {
		c := &h.Changes[i]
		if c.Path != e.Path {
			continue
		}
		want := h.Before(c)
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
		if want.Kind == object.File && want.Data == object.NoData {
			return "" // it was only moved, or its attributes were changed
		}
		return Diff(e.Path, before, after)
	}
	return ""
}

// kept returns what was kept of a file, or why that is not shown.
func (s *Session) kept(want *object.State) ([]byte, string) {
	switch {
	case want.Kind == object.Link:
		return []byte("symbolic link to " + want.Target), ""
	case want.Kind != object.File || want.Data == object.NoData:
		return nil, want.Lost
	case want.Size > maxDiff:
		return nil, "it is too large to be shown"
	}
	data, err := OpenData(s, want.Jail)
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

func contentOf(path string) ([]byte, string) {
	p, err := object.OpenPlace(path)
	if err != nil {
		return nil, ""
	}
	defer p.Close()
	now, err := object.Look(p.Dir, p.Name)
	switch {
	case err != nil:
		return nil, err.Error()
	case now.Kind == object.Link:
		return []byte("symbolic link to " + now.Target), ""
	case now.Kind != object.File:
		return nil, ""
	case now.Size > maxDiff:
		return nil, "it is too large to be shown"
	}
	var b []byte
	err = p.OnObject(func(name string, _ object.State) error {
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

// SameContent reports whether the file at a path has the content that was kept.
func SameContent(s *Session, want *object.State, path string) bool {
	p, err := object.OpenPlace(path)
	if err != nil {
		return false
	}
	defer p.Close()
	fd, err := unix.Openat(p.Dir, p.Name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size != want.Size {
		return false
	}
	data, err := OpenData(s, want.Jail)
	if err != nil {
		return false
	}
	defer data.Close()
	return object.EqualContent(fd, 0, int(data.Fd()), want.Data, want.Size, make([]byte, 128<<10))
}
