package private

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// maxTries bounds how often a file is opened again that other programs keep replacing.
const maxTries = 20

// ErrIrregular is in the chain of an error about a name that is no regular file.
var ErrIrregular = errors.New("it is not a regular file")

// LargeError is the error of a file with more bytes than it may have.
type LargeError struct {
	File        string
	Bytes, Most int64
}

func (e *LargeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, and may have at most %d", e.File, e.Bytes, e.Most)
}

// ReadFile reads a file, of at most limit bytes, whose path below base may have several names.
func ReadFile(base, below string, limit int64) ([]byte, error) {
	d, err := Open(base, filepath.Dir(below))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadFile(filepath.Base(below), limit)
}

// ReadFollowed reads a file as ReadFile does, and finds it as Follow does.
func ReadFollowed(file string, limit int64) ([]byte, error) {
	d, name, err := Follow(file)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadFile(name, limit)
}

// ReadFile reads a file of at most limit bytes.
func (d *Dir) ReadFile(name string, limit int64) ([]byte, error) {
	f, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &LargeError{d.at(name), info.Size(), limit}
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead)) // so two reads suffice
	_, err = data.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && int64(data.Len()) > limit { // it grew meanwhile
		err = &LargeError{d.at(name), int64(data.Len()), limit}
	}
	return data.Bytes(), err
}

// OpenFile opens a regular file, as os.OpenFile does. It opens no file for writing that has another
// name (hard link), since that could be any file of the user.
func (d *Dir) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	for range maxTries {
		f, again, err := d.openOnce(name, flag|hostfs.OpenFlags, perm)
		if !again {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s cannot be opened: other programs keep replacing it", d.at(name))
}

// openOnce opens a file that exists, or else creates it. again reports that the file was replaced
// between two calls.
func (d *Dir) openOnce(name string, flag int, perm fs.FileMode) (f *os.File, again bool, err error) {
	info, err := d.look(name, true)
	if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		f, err = d.root.OpenFile(name, flag|os.O_EXCL, perm)
		return f, errors.Is(err, fs.ErrExist) && flag&os.O_EXCL == 0, d.full(err, name)
	}
	switch {
	case err != nil:
		return nil, false, err
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, false, &fs.PathError{Op: "open", Path: d.at(name), Err: fs.ErrExist}
	case !info.Mode().IsRegular():
		return nil, false, &fs.PathError{Op: "open", Path: d.at(name), Err: ErrIrregular}
	case flag&(os.O_WRONLY|os.O_RDWR) != 0:
		if err := hostfs.CheckSingle(d.at(name), info); err != nil {
			return nil, false, err
		}
	}
	f, err = d.root.OpenFile(name, flag&^(os.O_CREATE|os.O_EXCL), 0)
	if err != nil {
		return nil, errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0, d.full(err, name)
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		f.Close()
		return nil, true, err
	}
	return f, false, nil
}

// How says how Replace writes a file.
type How struct {
	Mode fs.FileMode // whatever the umask is; 0 is 0600
	// Sync makes the file survive a loss of power: either the old one or the new one is there.
	Sync bool
	// Before runs when the new file is complete, and before it takes the place of the old one. An
	// error leaves the old one.
	Before func() error
}

// Replace puts a new file in the place of another, or of none, in one step: a reader, or a crash,
// finds either the old file or the new one. It replaces no link, directory or file that others
// control. It removes the unfinished files of processes that were killed in Replace.
func (d *Dir) Replace(name string, data []byte, how How) error {
	if _, err := d.look(name, true); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.removeUnfinished()
	temp, err := d.writeTemp(name, data, how)
	if err == nil && how.Before != nil {
		err = how.Before()
	}
	if err == nil {
		err = d.full(d.root.Rename(temp, name), name)
	}
	if err != nil {
		if temp != "" {
			_ = d.root.Remove(temp)
		}
		return err
	}
	if how.Sync {
		return d.sync()
	}
	return nil
}

// writeTemp writes a file with a name that cannot be foreseen. It returns the name also with an
// error, unless there is no file. name is for errors.
func (d *Dir) writeTemp(name string, data []byte, how How) (temp string, err error) {
	temp = unfinished + unforeseen()
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|hostfs.OpenFlags, 0o600)
	if err != nil {
		return "", d.full(err, name)
	}
	err = f.Chmod(cmp.Or(how.Mode, 0o600))
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil && how.Sync {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return temp, d.full(err, name)
}

// Create writes a new file under the first of the names that nothing has, in one step as Replace
// does. It returns that name.
func (d *Dir) Create(data []byte, how How, names iter.Seq[string]) (string, error) {
	d.removeUnfinished()
	temp, err := d.writeTemp(".", data, how)
	if temp != "" {
		defer d.root.Remove(temp) // of no effect after a rename
	}
	if err != nil {
		return "", err
	}
	for name := range names {
		if err := single(name); err != nil {
			return "", err
		}
		// A link is refused where the name is taken. Some filesystems have no hard links.
		linked := d.root.Link(temp, name)
		if _, taken := d.root.Lstat(name); linked != nil && taken == nil {
			continue
		}
		if linked != nil {
			err = d.full(d.root.Rename(temp, name), name)
		}
		if err == nil && how.Sync {
			err = d.sync()
		}
		return name, err
	}
	return "", fmt.Errorf("%s has no free name for another file", d.path)
}

func unforeseen() string { return strings.ToLower(rand.Text()) }

// unfinished begins the names of the files that Replace and Create write.
const unfinished = ".new-"

func isUnfinished(name string) bool {
	random, ok := strings.CutPrefix(name, unfinished)
	return ok && len(random) == len(rand.Text()) && strings.Trim(random, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// patience is the age from which on an unfinished file belongs to nobody.
const patience = time.Minute

func (d *Dir) removeUnfinished() {
	entries, _ := d.Names()
	for _, e := range entries {
		if !isUnfinished(e.Name()) {
			continue
		}
		if info, err := d.root.Lstat(e.Name()); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > patience {
			_ = d.root.Remove(e.Name())
		}
	}
}
