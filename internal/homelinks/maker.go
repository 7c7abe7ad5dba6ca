package homelinks

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const (
	maxDepth   = 32   // of a tree of the server that may give way
	maxTree    = 200  // its entries
	maxEntries = 1000 // of a directory of the user, to be linked one by one
)

// maker works in one HOME.
type maker struct {
	root   *os.Root
	home   string // its path
	alone  bool   // no other session of the server runs
	before list   // of earlier starts
	now    list
	told   []string
	err    error // the first one
}

func (m *maker) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

var errNoDir = errors.New("it is not a directory")

// open opens a directory in another one, and follows no link: the error is errNoDir for one.
func open(dir *os.Root, name string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errNoDir
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(info, opened) {
		next.Close()
		return nil, errors.Join(err, errNoDir) // it was replaced meanwhile
	}
	return next, nil
}

// find opens the directory that holds a path. ok is false if there is none.
func (m *maker) find(at string) (dir *os.Root, name string, ok bool) {
	dir, _, err := m.enter(at, false)
	return dir, path.Base(at), err == nil && dir != nil
}

// enter opens the directory that holds a path, and makes it if create is set. If something that is not
// a directory is on the way, it returns its path.
func (m *maker) enter(at string, create bool) (dir *os.Root, blocked string, err error) {
	if dir, err = m.root.OpenRoot("."); err != nil {
		return nil, "", err
	}
	names, way := strings.Split(at, "/"), ""
	for _, name := range names[:len(names)-1] {
		way = path.Join(way, name)
		next, err := open(dir, name)
		if errors.Is(err, fs.ErrNotExist) && create {
			if err = dir.Mkdir(name, 0o700); err == nil {
				m.now.Dirs = append(m.now.Dirs, way)
			}
			if err == nil || errors.Is(err, fs.ErrExist) {
				next, err = open(dir, name)
			}
		}
		dir.Close()
		if errors.Is(err, errNoDir) {
			return nil, way, nil
		}
		if err != nil {
			return nil, "", err
		}
		dir = next
	}
	return dir, "", nil
}

// place makes one link.
func (m *maker) place(w policy.HomeLink) {
	dir, blocked, err := m.enter(w.Path, true)
	switch {
	case err != nil:
		m.fail(err)
		return
	case blocked != "":
		// Through a link of a rule for a directory above, this one is there already.
		if m.now.Links[blocked] == "" {
			m.tell(w.Path, "the server has its own ~/%s, so your ~/%s is not at its place in the server's HOME: to use yours, remove %s", blocked, w.Path, m.path(blocked))
		}
		return
	}
	defer dir.Close()
	name := path.Base(w.Path)
	for range maxTries {
		info, err := dir.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err = dir.Symlink(w.Target, name); errors.Is(err, fs.ErrExist) {
				continue
			}
			if err != nil {
				m.fail(err)
				return
			}
			m.now.Links[w.Path] = w.Target
			return
		case err != nil:
			m.fail(err)
			return
		case info.Mode()&fs.ModeSymlink != 0:
			found, _ := dir.Readlink(name)
			if found == w.Target {
				m.now.Links[w.Path] = found
			}
			if found == m.now.Links[w.Path] { // or it was made for the directory around it
				return
			}
		case info.IsDir() && m.givesWay(dir, name, w.Path):
			continue
		case info.IsDir() && w.Dir:
			m.merge(dir, name, w)
			return
		}
		break
	}
	m.tell(w.Path, "the server has its own ~/%s, so yours is not at its place in the server's HOME: to use yours, remove %s", w.Path, m.path(w.Path))
}

// maxTries bounds how often a place is looked at again that the server keeps changing.
const maxTries = 4

func (m *maker) path(at string) string { return filepath.Join(m.home, filepath.FromSlash(at)) }

// merge links the entries of a directory that the server's own directory lacks.
func (m *maker) merge(dir *os.Root, name string, w policy.HomeLink) {
	own, err := open(dir, name)
	if err != nil {
		m.fail(err)
		return
	}
	defer own.Close()
	names, err := namesOf(w)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.fail(err)
		return
	}
	for _, name := range names {
		at, target := path.Join(w.Path, name), path.Join(w.Target, name)
		err := own.Symlink(target, name)
		if errors.Is(err, fs.ErrExist) && m.givesWay(own, name, at) {
			err = own.Symlink(target, name)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			m.fail(err)
			return
		}
		if found, err := own.Readlink(name); err == nil && found == target {
			m.now.Links[at] = target
		}
	}
	m.tell(w.Path, "the server has its own files in ~/%s: of yours it sees there only those with other names. To use yours alone, remove %s", w.Path, m.path(w.Path))
}

// namesOf returns what the directory holds that a rule has granted. A server may have replaced it
// since.
func namesOf(w policy.HomeLink) (names []string, err error) {
	dir, err := os.OpenFile(w.Target, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil {
		return nil, err
	}
	if !(hostfs.Way{Info: hostfs.FileInfo{ID: w.ID, Mode: fs.ModeDir}}).Is(info) {
		return nil, &fs.PathError{Op: "list", Path: w.Target, Err: errors.New("it was replaced during the start")}
	}
	names, err = dir.Readdirnames(maxEntries)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.Sort(names)
	return names, err
}

// givesWay removes a directory of the server if it holds no file. Links that were made for rules do
// not count.
func (m *maker) givesWay(dir *os.Root, name, at string) bool {
	if !m.alone {
		return false
	}
	left := maxTree
	return m.holdsNoFile(dir, name, at, &left, maxDepth) && m.remove(dir, name, at)
}

func (m *maker) isOurs(dir *os.Root, name, at string) bool {
	target := m.before.Links[at]
	found, err := dir.Readlink(name)
	return err == nil && target != "" && found == target
}

func (m *maker) holdsNoFile(dir *os.Root, name, at string, left *int, depth int) bool {
	if depth == 0 {
		return false
	}
	in, entries, err := readIn(dir, name, *left)
	if err != nil {
		return false
	}
	defer in.Close()
	if *left -= len(entries); *left <= 0 {
		return false
	}
	for _, e := range entries {
		below := path.Join(at, e.Name())
		if !m.isOurs(in, e.Name(), below) && (!e.IsDir() || !m.holdsNoFile(in, e.Name(), below, left, depth-1)) {
			return false
		}
	}
	return true
}

// remove removes a tree that holdsNoFile has looked at. A directory that has got a file since stays.
func (m *maker) remove(dir *os.Root, name, at string) bool {
	in, entries, err := readIn(dir, name, maxTree)
	if err != nil {
		return false
	}
	defer in.Close()
	for _, e := range entries {
		below := path.Join(at, e.Name())
		switch {
		case m.isOurs(in, e.Name(), below):
			if in.Remove(e.Name()) != nil {
				return false
			}
			delete(m.before.Links, below)
		case !e.IsDir() || !m.remove(in, e.Name(), below):
			return false
		}
	}
	return dir.Remove(name) == nil
}

// readIn opens a directory in another one, and returns at most n of its entries.
func readIn(dir *os.Root, name string, n int) (in *os.Root, entries []fs.DirEntry, err error) {
	if in, err = open(dir, name); err != nil {
		return nil, nil, err
	}
	f, err := in.Open(".")
	if err == nil {
		entries, err = f.ReadDir(n)
		f.Close()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		in.Close()
		return nil, nil, err
	}
	return in, entries, nil
}
