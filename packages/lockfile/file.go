package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/toml"
)

// A File is the content of a lock file. The zero File is empty.
type File struct{ entries map[Key]*Entry }

// Parse reads a whole lock file; empty data is an empty file. The error is a [*SyntaxError]
// or a [*VersionError]. name is the file's name in errors.
func Parse(data []byte, name string) (*File, error) {
	f, err := parse(data)
	return f, named(err, name)
}

func parse(data []byte) (*File, error) {
	f := &File{entries: map[Key]*Entry{}}
	if len(data) == 0 {
		return f, nil
	}
	if len(data) > maxSize {
		return nil, fault(0, "it has %d bytes, and a lock file has at most %d", len(data), maxSize)
	}
	root, err := full(data)
	if err != nil {
		return nil, err
	}
	d := &decoder{}
	d.members(root, func(eco string, n *toml.Node) {
		switch {
		case eco == "version": // full has checked it
		case Ecosystem(eco) != NPM && Ecosystem(eco) != PyPI:
			d.text(eco, n, nil)
		default:
			d.members(n, func(spec string, n *toml.Node) {
				key := Key{Ecosystem(eco), spec}
				f.entries[key] = d.entry(key, n)
			})
		}
	})
	if d.err != nil {
		return nil, d.err
	}
	return f, nil
}

func named(err error, name string) error {
	var syntax *SyntaxError
	var version *VersionError
	if errors.As(err, &syntax) {
		syntax.File = name
	} else if errors.As(err, &version) {
		version.File = name
	}
	return err
}

// Find returns the entry of a key in the text of a lock file, or nil if there is none. If there is
// one, it decodes that entry only. If not, the whole file must be right: a misspelt section could
// hide the entry.
func Find(data []byte, key Key, name string) (*Entry, error) {
	if 0 < len(data) && len(data) <= maxSize {
		if root, err := full(data); err == nil {
			d := &decoder{}
			if e := d.find(root, key); d.err == nil && e != nil {
				return e, nil
			}
		}
	}
	f, err := Parse(data, name) // also for the error
	if err != nil {
		return nil, err
	}
	return f.Find(key), nil
}

// Find returns the entry of a key, or nil. It is not a copy.
func (f *File) Find(key Key) *Entry { return f.entries[key] }

// Set adds an entry, or replaces the one with its key. It keeps the replaced entry's note
// if the new one has none. What e points to must not change afterwards.
func (f *File) Set(e *Entry) error {
	if err := e.check(); err != nil {
		return err
	}
	if f.entries == nil {
		f.entries = map[Key]*Entry{}
	}
	kept := *e
	if old := f.entries[e.Key]; old != nil && e.Note == "" {
		kept.Note = old.Note
	}
	kept.Pinned = e.Pinned.UTC().Truncate(time.Second) // as the file has it
	f.entries[e.Key] = &kept
	return nil
}

// Remove removes the entry of a key. It reports whether there was one.
func (f *File) Remove(key Key) bool {
	_, ok := f.entries[key]
	delete(f.entries, key)
	return ok
}

// Load reads a lock file. A file that does not exist is an empty one. It refuses a file over
// which another user has control ([hostfs.OwnerError]).
func Load(name string) (*File, error) {
	data, err := Read(name)
	if err != nil {
		return nil, err
	}
	return Parse(data, name)
}

// Read returns the text of a lock file for [Find], after the checks of [Load]. A file that
// does not exist has no text.
func Read(name string) ([]byte, error) {
	d, base, err := private.Follow(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return read(d, base, name)
}

func read(d *private.Dir, name, path string) ([]byte, error) {
	data, err := d.ReadFile(name, maxSize)
	var large *private.LargeError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, private.ErrIrregular):
		return nil, &SyntaxError{File: path, Reason: private.ErrIrregular.Error()}
	case errors.As(err, &large):
		return nil, &SyntaxError{File: path, Reason: fmt.Sprintf("it has %d bytes, and a lock file has at most %d", large.Bytes, maxSize)}
	}
	return data, err
}
