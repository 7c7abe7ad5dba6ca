package ownfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxSize is the size of the largest file that Read reads, in bytes, and maxLarge that of the largest
// which ReadLarge reads.
const (
	maxSize  = 5 << 20
	maxLarge = 64 << 20
)

// maxLinks bounds the symbolic links between a name and its file, as Linux does.
const maxLinks = 40

// A File is a file as Read saw it.
type File struct {
	Name string // as it was asked for
	Real string // its path without symbolic links
	Data []byte

	max  int64
	info fs.FileInfo
	list bool // it has an access list
	hash [sha256.Size]byte
}

// ErrChanged is the error of a file that is not any more what [Read] saw.
var ErrChanged = errors.New("it has changed since mcp-jail read it")

// A refusedError reports a file that is not read or not replaced.
type refusedError struct {
	File   string
	Reason string
	Fix    string // what the user can do; may be empty
	Err    error  // the cause, for errors.Is; may be nil
}

func (e *refusedError) Error() string {
	text := e.File + " is refused: " + e.Reason
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

func (e *refusedError) Unwrap() error { return e.Err }

// Read reads a file. The error is a [*refusedError], or that of the system:
// errors.Is(err, fs.ErrNotExist) tells that there is no file.
func Read(name string) (*File, error) { return readUpTo(name, maxSize) }

// ReadLarge reads a file as Read does, and may take as much memory as maxLarge.
func ReadLarge(name string) (*File, error) { return readUpTo(name, maxLarge) }

func readUpTo(name string, most int64) (*File, error) {
	f, file, err := look(name, most)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// A buffer that grows by itself would take the memory of the file several times.
	buffer := bytes.NewBuffer(make([]byte, 0, f.info.Size()+bytes.MinRead))
	if _, err := buffer.ReadFrom(io.LimitReader(file, most+1)); err != nil {
		return nil, err
	}
	f.Data = buffer.Bytes()
	if int64(len(f.Data)) > most {
		return nil, f.tooLarge(int64(len(f.Data)))
	}
	f.hash = sha256.Sum256(f.Data)
	return f, nil
}

// look opens a file for reading.
func look(name string, most int64) (*File, *os.File, error) {
	f := &File{Name: name, max: most}
	var err error
	if f.Real, err = resolve(name); err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(f.Real, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	f.list = hasList(file)
	if f.info, err = file.Stat(); err == nil {
		err = f.checkKind()
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return f, file, nil
}

func resolve(name string) (string, error) {
	at, err := filepath.Abs(name)
	// The last name is followed link by link, so that the owner of each link is checked.
	for range maxLinks {
		if err != nil {
			return "", err
		}
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return filepath.EvalSymlinks(at) // the directories on the way
		}
		// Another user could let his link lead to another file of yours.
		if uid := owner(info); uid != 0 && uid != self() {
			return "", &refusedError{File: name, Reason: fmt.Sprintf("the symbolic link %s belongs to user %d, and you are user %d", at, uid, self()), Fix: "name the file itself"}
		}
		target, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			// A link is relative to the directory where it really is.
			dir, err := filepath.EvalSymlinks(filepath.Dir(at))
			if err != nil {
				return "", err
			}
			target = filepath.Join(dir, target)
		}
		at = target
	}
	return "", &refusedError{File: name, Reason: "its symbolic links lead in a circle", Fix: "remove one of them"}
}

func (f *File) checkKind() error {
	switch mode := f.info.Mode(); {
	case mode.IsDir():
		return f.refuse("it is a directory, and has to be a file", "")
	case !mode.IsRegular():
		return f.refuse("it is no regular file ("+mode.Type().String()+")", "")
	case owner(f.info) != self():
		return f.refuse(fmt.Sprintf("it belongs to user %d, and you are user %d", owner(f.info), self()), "run mcp-jail as that user")
	case f.info.Size() > f.max:
		return f.tooLarge(f.info.Size())
	}
	return nil
}

func (f *File) tooLarge(size int64) error {
	return f.refuse(fmt.Sprintf("it has %d bytes, and mcp-jail changes such files of at most %d MB", size, f.max>>20), "make it smaller with the program that writes it, or change its entries by hand")
}

func (f *File) refuse(reason, fix string) error {
	name := f.Name
	if abs, err := filepath.Abs(name); f.Real != "" && (err != nil || abs != f.Real) {
		name += " (" + f.Real + ")"
	}
	return &refusedError{File: name, Reason: reason, Fix: fix}
}

// Unchanged returns nil if the file is still as Read saw it, and made is its content: that of which the
// caller has made what it is about to write. A Replace since then has given f other content. The error
// matches [ErrChanged] if the file has changed or is gone.
func (f *File) Unchanged(made []byte) error {
	if !bytes.Equal(made, f.Data) {
		return f.changed(ErrChanged.Error())
	}
	return f.unchanged()
}

func (f *File) unchanged() error {
	now, file, err := look(f.Name, f.max)
	if err == nil {
		defer file.Close()
		hash := sha256.New()
		_, err = io.Copy(hash, io.LimitReader(file, f.max+1))
		hash.Sum(now.hash[:0])
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.changed("it is gone")
	case err != nil:
		return err
	case now.Real != f.Real:
		return f.changed("its name leads to " + now.Real + " now")
	case now.hash != f.hash:
		return f.changed(ErrChanged.Error())
	case !os.SameFile(now.info, f.info) || now.info.Mode() != f.info.Mode() || !now.info.ModTime().Equal(f.info.ModTime()):
		return f.changed("another program has replaced or touched it since mcp-jail read it")
	}
	return nil
}

func (f *File) changed(reason string) error {
	return &refusedError{File: f.Name, Reason: reason, Fix: "close the client that writes it, and try again", Err: ErrChanged}
}

// Replaceable returns an error if Replace refuses the file whatever the new content is.
func (f *File) Replaceable() error {
	switch {
	case f.info.Mode()&0o200 == 0:
		return f.refuse(fmt.Sprintf("it is read-only (mode %04o)", f.info.Mode().Perm()), "if it may be changed:  chmod u+w "+strings.ReplaceAll(f.Name, " ", `\ `))
	case hardLinks(f.info) > 1:
		return f.refuse(fmt.Sprintf("it has %d hard links, and a replacement would part them", hardLinks(f.info)), "replace the other names by symbolic links")
	case f.list: // the bits of the group are those of the list's mask
		return f.refuse("it has an access list, which a replacement would not have", "if nobody else needs the file:  setfacl -b "+strings.ReplaceAll(f.Name, " ", `\ `))
	}
	return nil
}
