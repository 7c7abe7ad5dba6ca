package download

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// umask is npm's setting: the modes of what it unpacks.
const umask = 0o022

// maxUnpacked bounds what one archive unpacks to. The watch outside of the jail bounds all.
const maxUnpacked = 4 << 30

// unpack unpacks an archive into a new directory, as npm does. It leaves to npm an archive that has
// anything unusual.
func unpack(text []byte, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	plain, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return errors.Join(errOther, err)
	}
	u := &unpacking{root: root, made: map[string]bool{".": true}, files: map[string]bool{}, ignores: map[string]bool{}}
	archive := tar.NewReader(io.LimitReader(plain, maxUnpacked))
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errors.Join(errOther, err)
		}
		if err := u.add(h, archive); err != nil {
			return err
		}
	}
}

type unpacking struct {
	root    *os.Root
	made    map[string]bool // directories
	files   map[string]bool
	ignores map[string]bool // the .npmignore files
}

func (u *unpacking) add(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeLink || h.Typeflag == tar.TypeSymlink {
		return nil // npm leaves them out
	}
	name := strings.TrimSuffix(h.Name, "/")
	if name == "" || strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\\x00") || h.Mode&0o7000 != 0 {
		return errOther
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".." || part == "." || part == "" {
			return errOther
		}
	}
	_, name, below := strings.Cut(name, "/") // the first directory is that of the package
	switch {
	case h.Typeflag == tar.TypeDir:
		if !below {
			return nil
		}
		return u.mkdir(name)
	case h.Typeflag != tar.TypeReg:
		return errOther
	case !below:
		return nil
	}
	if name, below = u.renamed(name); !below {
		return nil
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	mode := fs.FileMode((h.Mode|0o666)&^umask|0o600) & 0o777
	if u.files[name] { // the last of a name counts
		if err := u.root.Remove(name); err != nil {
			return err
		}
	}
	u.files[name] = true
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return errors.Join(errOther, err)
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// renamed returns the name under which npm unpacks a file: .gitignore becomes .npmignore unless that
// was there before.
func (u *unpacking) renamed(name string) (string, bool) {
	switch path.Base(name) {
	case ".npmignore":
		u.ignores[name] = true
	case ".gitignore":
		name = strings.TrimSuffix(name, ".gitignore") + ".npmignore"
		return name, !u.ignores[name]
	}
	return name, true
}

func (u *unpacking) mkdir(name string) error {
	if u.made[name] {
		return nil
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	if err := u.root.Mkdir(name, 0o755); err != nil {
		return errors.Join(errOther, err)
	}
	u.made[name] = true
	return nil
}
