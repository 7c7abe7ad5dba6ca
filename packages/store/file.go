package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

const (
	formatVersion = 1
	maxSize       = 32 << 20 // of the file
)

// A document is the file as it is read.
type document struct {
	Version  int    `json:"version"`
	Packages []item `json:"packages"`
}

// An item is an entry of which only the key is read: a start needs one of many, and they have megabytes.
type item struct {
	Key
	Rest jsontext.Value `json:",embed"`
}

// A File is the content of a lock file. The zero File is empty.
type File struct{ entries map[Key]*Entry }

// A formatError reports a file that is no lock file of this version of mcp-jail.
type formatError struct{ File, Reason string }

func (e *formatError) Error() string {
	return fmt.Sprintf("%s is no lock file of this version of mcp-jail: %s. Correct it, or move it away: packages are then fetched and pinned again at the next start",
		e.File, e.Reason)
}

func parse(data []byte, name string) (*File, error) {
	f := &File{entries: map[Key]*Entry{}}
	items, err := split(data, name)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		e, err := i.entry(name)
		if err != nil {
			return nil, err
		}
		f.entries[e.Key] = e
	}
	return f, nil
}

// split returns the entries of a file; empty data is an empty file.
func split(data []byte, name string) ([]item, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var d document
	if err := json.Unmarshal(data, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, &formatError{name, reason(data, err)}
	}
	if d.Version != formatVersion {
		return nil, &formatError{name, fmt.Sprintf("its version is %d, and this mcp-jail reads %d", d.Version, formatVersion)}
	}
	known := map[Key]bool{}
	for _, i := range d.Packages {
		if known[i.Key] {
			return nil, &formatError{name, fmt.Sprintf("%s is there twice", i.Key)}
		}
		known[i.Key] = true
	}
	return d.Packages, nil
}

func (i item) entry(name string) (*Entry, error) {
	e := &Entry{Key: i.Key}
	if i.Rest != nil {
		if err := json.Unmarshal(i.Rest, e, json.RejectUnknownMembers(true)); err != nil {
			return nil, &formatError{name, fmt.Sprintf("the entry of %s: %s", i.Key, reason(nil, err))}
		}
	}
	if err := e.check(); err != nil {
		return nil, &formatError{name, err.Error()}
	}
	return e, nil
}

// reason says in words why a text is no lock file.
func reason(data []byte, err error) string {
	var value *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &value):
		return fmt.Sprintf("it has the member %s, which is not known", show.Named(value.JSONPointer.LastToken(), 80))
	case errors.As(err, &value):
		return fmt.Sprintf("the value of %s is not what is expected there", cmp.Or(show.Named(string(value.JSONPointer), 200), "the text"))
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(data[:min(int(syntax.ByteOffset), len(data))], []byte("\n"))
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return fmt.Sprintf("line %d has the member %s for the second time", line, show.Named(syntax.JSONPointer.LastToken(), 80))
		}
		return fmt.Sprintf("line %d is no JSON: %s", line, show.Named(syntax.Err.Error(), 120))
	}
	return show.Named(err.Error(), 200)
}

// encode returns the file's text. Equal files have equal texts.
func (f *File) encode() ([]byte, error) {
	text, err := json.Marshal(struct {
		Version  int      `json:"version"`
		Packages []*Entry `json:"packages"`
	}{formatVersion, f.Entries()}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, err
	}
	if len(text) >= maxSize {
		return nil, fmt.Errorf("the lock file would have %d bytes, and may have %d; remove packages that are not used: mcp-jail status --remove --all", len(text), maxSize)
	}
	return append(text, '\n'), nil
}

// Entries returns the entries, sorted by ecosystem and spec. They are not copies.
func (f *File) Entries() []*Entry {
	return slices.SortedFunc(maps.Values(f.entries), func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Ecosystem, b.Ecosystem), strings.Compare(a.Spec, b.Spec))
	})
}

// Find returns the entry of a key, or nil. It is not a copy.
func (f *File) Find(key Key) *Entry { return f.entries[key] }

// Set adds an entry, or replaces the one with its key. It keeps the replaced entry's note
// if the new one has none. What e points to must not change afterwards.
func (f *File) Set(e *Entry) error {
	if err := e.check(); err != nil {
		return err
	}
	if _, err := e.List(); err != nil {
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

// Load reads a lock file. A file that does not exist is an empty one. The error is a [*formatError], or
// about a file over which another user has control ([hostfs.OwnerError]).
func Load(name string) (*File, error) {
	data, err := readNamed(name)
	if err != nil {
		return nil, err
	}
	return parse(data, name)
}

// Find returns the entry of a key in a lock file, or nil if there is none. The errors are those of [Load]; it
// does not look into the other entries.
func Find(name string, key Key) (*Entry, error) {
	data, err := readNamed(name)
	if err != nil {
		return nil, err
	}
	items, err := split(data, name)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(items, func(i item) bool { return i.Key == key })
	if i < 0 {
		return nil, nil
	}
	return items[i].entry(name)
}

func readNamed(name string) ([]byte, error) {
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
		return nil, &formatError{path, private.ErrIrregular.Error()}
	case errors.As(err, &large):
		return nil, &formatError{path, fmt.Sprintf("it has %d bytes, and a lock file has at most %d", large.Bytes, maxSize)}
	}
	return data, err
}
