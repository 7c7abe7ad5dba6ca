package download

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// umask is npm's setting: the modes of what it unpacks.
const umask = 0o022

// maxUnpacked bounds what one archive unpacks to. The watch outside of the jail bounds all.
const maxUnpacked = 4 << 30

// unpack unpacks an archive into a new directory, as npm does. It leaves to npm an archive that has
// anything unusual.
func unpack(archive io.Reader, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	zip, err := gzip.NewReader(archive)
	if err != nil {
		return errors.Join(errOther, err)
	}
	plain := io.LimitReader(zip, maxUnpacked)
	u := &unpacking{root: root, made: map[string]bool{".": true}, files: map[string]bool{}, ignores: map[string]bool{}}
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return errors.Join(errOther, err)
		}
		if err := u.add(h, files); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, plain); err != nil { // a wrong checksum, for instance
		return errors.Join(errOther, err)
	}
	return nil
}

type unpacking struct {
	root    *os.Root
	made    map[string]bool // directories
	files   map[string]bool
	ignores map[string]bool // the .npmignore files
}

func (u *unpacking) add(h *tar.Header, content io.Reader) error {
	if !isUsual(h) {
		return errOther
	}
	if h.Typeflag != tar.TypeReg {
		return nil // npm leaves out links, and directories without files
	}
	_, name, below := strings.Cut(u.renamed(h.Name), "/") // the first directory is that of the package
	if !below {
		return nil
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	how := os.O_EXCL
	if u.files[name] {
		how = os.O_TRUNC // the mode is that of the first, and the content that of the last
	}
	u.files[name] = true
	mode := fs.FileMode((h.Mode|0o666)&^umask|0o600) & 0o777
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|how, mode)
	if err != nil {
		return errors.Join(errOther, err)
	}
	if _, err = io.Copy(f, content); err != nil {
		err = errors.Join(errOther, err)
	}
	return errors.Join(err, f.Close())
}

// records are those of a header that npm and package tar read alike. npm knows more, such as a mode.
var records = []string{"path", "size", "mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment"}

// maxDepth bounds the directories of a name. npm leaves out what is deeper than 1024.
const maxDepth = 1000

// isUsual reports whether a header is one that npm and package tar read alike.
func isUsual(h *tar.Header) bool {
	for record := range h.PAXRecords {
		if !slices.Contains(records, record) {
			return false
		}
	}
	switch h.Typeflag {
	case tar.TypeLink, tar.TypeSymlink, tar.TypeDir:
		return h.Size == 0
	case tar.TypeReg: // npm takes one with a slash at its end for a directory
	default:
		return false
	}
	if h.Mode&0o7000 != 0 || strings.ContainsAny(h.Name, "\\\x00\n") || !utf8.ValidString(h.Name) {
		return false
	}
	parts := strings.Split(h.Name, "/")
	for n, part := range parts {
		if part == ".." || part == "." || part == "" || n == 1 && len(part) > 1 && part[1] == ':' { // a drive
			return false
		}
	}
	return len(parts) < maxDepth
}

// renamed returns the name under which npm unpacks a file: .gitignore becomes .npmignore unless that
// was there before. Then it is left out.
func (u *unpacking) renamed(name string) string {
	switch path.Base(name) {
	case ".npmignore":
		u.ignores[name] = true
	case ".gitignore":
		if name = strings.TrimSuffix(name, ".gitignore") + ".npmignore"; u.ignores[name] {
			return ""
		}
	}
	return name
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
