package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// ToolPins reads and changes the pins of the tools of one package. Entry is the entry of the
// package at the start of the session. Add changes nothing if the lock file's entry has another
// version or other files now.
type ToolPins struct {
	File  string // the lock file
	Entry *Entry
}

// Pinned returns the pins of Entry or, if fresh is true, those in the lock file now; there are none
// if its entry has another version or other files. The caller must not change them.
func (t ToolPins) Pinned(fresh bool) (map[string]*toolpin.Pin, error) {
	if !fresh {
		return t.Entry.Pins, nil
	}
	e, err := Find(t.File, t.Entry.Key)
	if err != nil || !t.isSame(e) {
		return nil, err
	}
	return e.Pins, nil
}

// Add pins a list, unless another session has pinned one meanwhile that it contradicts.
func (t ToolPins) Add(name string, p *toolpin.Pin) error {
	return Update(t.File, func(f *File) error {
		e := f.Find(t.Entry.Key)
		if !t.isSame(e) || !toolpin.Judge(e.Pins, name, p, false).New {
			return nil
		}
		return f.Set(e.withPin(name, p))
	})
}

func (t ToolPins) isSame(e *Entry) bool {
	return e != nil && e.Version == t.Entry.Version && e.Files == t.Entry.Files
}

func (e *Entry) withPin(name string, p *toolpin.Pin) *Entry {
	c := *e
	c.Pins = maps.Clone(e.Pins)
	if c.Pins == nil {
		c.Pins = map[string]*toolpin.Pin{}
	}
	c.Pins[name] = p
	return &c
}

// AcceptTools removes the pins of a package's tools: the next session pins the tools that it lists. name is the spec of
// its entries, or the package's own name. It returns the keys of the entries that had pins.
func AcceptTools(file, name string) (removed []Key, err error) {
	err = Update(file, func(f *File) error {
		removed = nil // Update calls this again if the file changed meanwhile
		found := false
		for _, e := range f.Entries() {
			if e.Spec != name && e.Name != name {
				continue
			}
			if found = true; len(e.Pins) == 0 {
				continue
			}
			next := *e
			next.Pins = nil
			if err := f.Set(&next); err != nil {
				return err
			}
			removed = append(removed, e.Key)
		}
		if !found {
			return fmt.Errorf("no package %s is in %s%s", show.Named(name, 120), file, f.known())
		}
		return nil
	})
	return removed, err
}

func (f *File) known() string {
	var names []string
	for _, e := range f.Entries() {
		names = append(names, show.Named(e.Spec, 120))
	}
	if names == nil {
		return ", which has none"
	}
	return "; it has " + strings.Join(names, ", ")
}

const (
	lockWait   = 30 * time.Second // for another change, which takes milliseconds
	maxRetries = 20
)

// Update changes a lock file. It reads the file, calls change, and replaces the file in one
// step: a reader, and a crash, find either the old text or the new one. Changes of several
// processes follow one another, and none is lost. Update creates the file (mode 0644) and
// its directory (0700) if necessary, and writes nothing if the text stays the same or change
// returns an error. change may be called several times, each time with the file as it is.
func Update(name string, change func(*File) error) error {
	d, base, err := private.MakeFollow(name)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := lock(d)
	if errors.Is(err, private.ErrLocked) {
		return fmt.Errorf("%s was not changed: another process has held the lock of its directory for %s; end that process, or try again", name, lockWait)
	}
	if err != nil {
		return fmt.Errorf("%s was not changed: its directory cannot be locked: %w", name, err)
	}
	defer unlock()
	for range maxRetries {
		err := updateOnce(d, base, name, change)
		if !errors.Is(err, errChanged) {
			return err
		}
	}
	return fmt.Errorf("%s was not changed: another program changes it all the time", name)
}

// CanUpdate returns an error if Update could not change a lock file now, because it is not valid
// or its directory cannot be written. It creates the directory if necessary.
func CanUpdate(name string) error {
	d, base, err := private.MakeFollow(name)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	defer d.Close()
	data, err := read(d, base, name)
	if err == nil {
		_, err = parse(data, name)
	}
	if err != nil {
		return err
	}
	if err := d.Writable(); err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return nil
}

// errChanged reports that a file was changed meanwhile, by a program without the lock.
var errChanged = errors.New("it was changed meanwhile")

func updateOnce(d *private.Dir, base, name string, change func(*File) error) error {
	before, err := read(d, base, name)
	if err != nil {
		return err
	}
	f, err := parse(before, name)
	if err != nil {
		return err
	}
	if err := change(f); err != nil || before == nil && len(f.entries) == 0 {
		return err
	}
	after, err := f.encode()
	// An unchanged file keeps its time, and no read-only directory is in the way.
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	err = d.Replace(base, after, private.How{Mode: 0o644, Sync: true, Before: func() error {
		// Programs without the lock, such as git, may have written since.
		if now, err := read(d, base, name); err != nil || !bytes.Equal(now, before) {
			return errors.Join(err, errChanged)
		}
		return nil
	}})
	if err != nil && !errors.Is(err, errChanged) {
		return fmt.Errorf("%s was not changed: %w", name, err)
	}
	return err
}

// lock takes the lock of a directory. It waits for a process that has it.
func lock(d *private.Dir) (unlock func(), err error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(5 * time.Millisecond) {
		unlock, err := d.Lock(private.Exclusive)
		switch {
		case err == nil:
			return unlock, nil
		case !errors.Is(err, private.ErrLocked):
			return func() {}, nil // no locks here (NFS): the comparison before the rename remains
		case time.Now().After(end):
			return nil, err
		}
	}
}
