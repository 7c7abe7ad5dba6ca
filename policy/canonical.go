package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
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
	seen map[string]seen
	// listed holds the names in directories about which many questions come, most
	// of them about what is not there: one listing answers those.
	listed map[string]map[string]bool
}

type seen struct {
	info   FileInfo
	target string // of a symbolic link
	err    error
}

func newFinder(h *Host) *finder {
	return &finder{host: h, seen: make(map[string]seen, 256), listed: map[string]map[string]bool{}}
}

// list reads the names of a canonical directory ahead. Only Linux: elsewhere a
// name may exist under another spelling.
func (f *finder) list(dir string) {
	if f.host.OS != "linux" {
		return
	}
	entries, err := f.host.ReadDir(dir)
	if err != nil {
		return
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name] = true
	}
	f.listed[dir] = names
}

func (f *finder) look(p string) seen {
	if s, ok := f.seen[p]; ok {
		return s
	}
	var s seen
	if names, ok := f.listed[path.Dir(p)]; ok && p != "/" && !names[path.Base(p)] {
		s.err = fs.ErrNotExist
	} else {
		s.info, s.err = f.host.Lstat(p)
	}
	if s.err == nil && s.info.Mode&fs.ModeSymlink != 0 {
		s.target, s.err = f.host.Readlink(p)
	}
	f.seen[p] = s
	return s
}

// find resolves an absolute path as docs/policy.md "Filesystem rules" lays down:
// cleaned as text, then component by component through symbolic links, for as
// long as there is something; the rest is appended. The only error is a loop.
func (f *finder) find(p string) (place, error) {
	p = path.Clean(p)
	out := place{path: "/"}
	todo := strings.Split(strings.Trim(p, "/"), "/")
	if p == "/" {
		todo = nil
	}
	out.info = f.look("/").info
	for crossed := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			out.path = path.Dir(out.path) // canonical so far: lexical is right
			out.info = f.look(out.path).info
			continue
		}
		next := path.Join(out.path, name)
		s := f.look(next)
		if s.err != nil && !errors.Is(s.err, fs.ErrNotExist) {
			out.shut = out.path
		}
		if s.err == nil && !out.info.Mode.IsDir() {
			s.err = fmt.Errorf("%s is not a directory", out.path)
		}
		if s.err != nil {
			out.missing = next
			if !errors.Is(s.err, fs.ErrNotExist) {
				out.reason = s.err.Error()
			}
			// Nothing can be followed behind the hole: dots of a link's target that
			// lie there are text.
			out.path = path.Join(append([]string{next}, todo...)...)
			out.info = FileInfo{}
			return out, nil
		}
		if s.info.Mode&fs.ModeSymlink != 0 {
			if crossed++; crossed > maxLinks {
				return out, errLoop
			}
			out.links = append(out.links, Link{Path: next, Target: s.target})
			todo = append(strings.Split(s.target, "/"), todo...)
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
