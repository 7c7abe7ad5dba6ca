package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLinks is the bound of the kernel (path_resolution(7)).
const maxLinks = 40

// errLoop is a chain of symbolic links that does not end.
var errLoop = errors.New("too many symbolic links: the path is a loop")

// place is what a path turned out to be.
type place struct {
	path string // canonical; where the tail is missing, the nearest existing ancestor and the tail
	// missing is the first component that does not exist, "" when all do.
	missing string
	// reason says why it counts as missing, when it is not simply absent.
	reason string
	// shut is the directory that could not be looked into, where that is the reason.
	shut  string
	info  FileInfo // of path; zero when missing
	links []Link   // every symbolic link that was crossed, in order
}

func (p place) exists() bool { return p.missing == "" }

// finder resolves paths against a host, remembering what it saw: one start asks
// about the same few directories over and over.
type finder struct {
	host *Host
	seen map[string]*seen
	// listed holds the names in directories about which many questions come, most
	// of them about what is not there: one listing answers those.
	listed map[string][]DirEntry
}

type seen struct {
	info   FileInfo
	target string // of a symbolic link
	err    error  // fs.ErrNotExist itself where it is one
}

// absent is what look says of names that a listing does not have. Read-only.
var absent = seen{err: fs.ErrNotExist}

func newFinder(h *Host) *finder {
	return &finder{host: h, seen: make(map[string]*seen, 100), listed: make(map[string][]DirEntry, 3)}
}

// list reads the names of a canonical directory ahead. Only Linux, and not where case
// is ignored (vfat, a Windows drive in WSL, a folding ext4): such a directory finds
// names that it does not list.
func (f *finder) list(dir string) {
	if f.host.OS != "linux" {
		return
	}
	if entries, err := f.host.ReadDir(dir); err == nil && !f.folds(dir, entries) {
		f.listed[dir] = entries
	}
}

// folds asks for the first name that has a letter, with that letter in the other case.
func (f *finder) folds(dir string, entries []DirEntry) bool {
	for _, e := range entries {
		for i, c := range []byte(e.Name) {
			if c|0x20 < 'a' || c|0x20 > 'z' {
				continue
			}
			other := e.Name[:i] + string(c^0x20) + e.Name[i+1:]
			_, err := f.host.Lstat(path.Join(dir, other))
			return !errors.Is(err, fs.ErrNotExist) && !lists(entries, other)
		}
	}
	return false
}

func lists(entries []DirEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e DirEntry) bool { return e.Name == name })
}

func (f *finder) look(p string) *seen {
	if s, ok := f.seen[p]; ok {
		return s
	}
	dir, name := split(p)
	if entries, ok := f.listed[dir]; ok && name != "" {
		// Beyond ASCII, one name has several spellings on some filesystems.
		if !lists(entries, name) && !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return &absent
		}
	}
	s := new(seen)
	if s.info, s.err = f.host.Lstat(p); s.err == nil && s.info.Mode&fs.ModeSymlink != 0 {
		s.target, s.err = f.host.Readlink(p)
	}
	if s.err != nil && errors.Is(s.err, fs.ErrNotExist) {
		s.err = fs.ErrNotExist
	}
	f.seen[p] = s
	return s
}

// split is path.Dir and path.Base of a clean absolute path; the base of "/" is "".
func split(p string) (dir, name string) {
	i := strings.LastIndexByte(p, '/')
	return p[:max(i, 1)], p[i+1:]
}

// find resolves an absolute path as docs/policy.md "Filesystem rules" lays down:
// cleaned as text, then component by component through symbolic links, for as
// long as there is something; the rest is appended. The only error is a loop.
func (f *finder) find(p string) (place, error) {
	p = path.Clean(p)
	out := place{path: "/", info: f.look("/").info}
	todo := p[1:]
	for crossed := 0; todo != ""; {
		before := len(p) - len(todo)
		var name string
		name, todo, _ = strings.Cut(todo, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			out.path = path.Dir(out.path) // canonical so far: lexical is right
			out.info = f.look(out.path).info
			continue
		}
		var next string
		if crossed == 0 {
			next = p[:before+len(name)] // no memory of its own
		} else {
			next = path.Join(out.path, name)
		}
		s := f.look(next)
		err := s.err
		if err != nil && err != fs.ErrNotExist {
			out.shut = out.path
		}
		if err == nil && !out.info.Mode.IsDir() {
			err = fmt.Errorf("%s is not a directory", out.path)
		}
		if err != nil {
			out.missing = next
			if err != fs.ErrNotExist {
				out.reason = err.Error()
			}
			// Nothing can be followed behind the hole: dots of a link's target that
			// lie there are text.
			if out.path = p; crossed > 0 {
				out.path = path.Join(next, todo)
			}
			out.info = FileInfo{}
			return out, nil
		}
		if s.info.Mode&fs.ModeSymlink != 0 {
			if crossed++; crossed > maxLinks {
				return out, errLoop
			}
			out.links = append(out.links, Link{Path: next, Target: s.target})
			todo = s.target + "/" + todo
			if strings.HasPrefix(s.target, "/") {
				out.path = "/"
			}
			out.info = f.look(out.path).info
			continue
		}
		out.path, out.info = next, s.info
	}
	return out, nil
}

// exists tells whether the path leads to something.
func (f *finder) exists(p string) bool {
	at, err := f.find(p)
	return err == nil && at.exists()
}
