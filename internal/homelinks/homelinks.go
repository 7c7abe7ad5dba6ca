// Package homelinks makes what rules grant below the user's home appear at its place in the private
// HOME of a server. [Home.Link] makes a symbolic link there for each [policy.HomeLink], before the
// start and outside of the jail.
//
// The server can write its HOME, and may have planted anything in it. So each directory on the way
// is opened in the one before, no link is followed, no file is opened, and trees are read up to a
// bound. A list of the links that were made lies beside the HOME, where the server cannot see it. A
// link of the list is removed if no rule wants it any more, it still has the target of the list, and
// no other session of the server runs.
//
// What the server has at such a place wins, with one exception: a directory that holds no file gives
// way. If it holds files, and the rule is about a directory, the entries that the server's lacks are
// linked one by one.
//
// # Limits
//
//   - Of a directory that the server has too, at most 1,000 entries are linked.
//   - The server can remove the links, for itself.
package homelinks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Home is the private HOME of a server.
type Home struct {
	StateDir string // of mcp-jail
	Server   string // the directory of the server, below StateDir. HOME is "home" in it
}

const (
	listDir  = "links"
	listFile = "list.json"
	heldDir  = "sessions" // in listDir: each session with links holds its lock
	maxList  = 16 << 20
)

// A list says what was made in a HOME.
type list struct {
	Links map[string]string `json:"links"`          // from the path in HOME to the target
	Dirs  []string          `json:"dirs,omitempty"` // made for links
	Told  []string          `json:"told,omitempty"` // places about which the user was told
}

// Link makes the links that are wanted, and removes those of earlier starts that are not. It returns
// lines for the user. Until release is called, no other start removes links of this one.
func (h Home) Link(wanted []policy.HomeLink) (told []string, release func(), err error) {
	release = func() {}
	server, err := private.Make(h.StateDir, h.Server)
	if err != nil {
		return nil, release, err
	}
	defer server.Close()
	if _, err := server.Lstat(listDir); errors.Is(err, fs.ErrNotExist) && len(wanted) == 0 {
		return nil, release, nil
	}
	lists, err := server.Make(listDir)
	if err != nil {
		return nil, release, err
	}
	defer lists.Close()
	unlock, err := lists.Hold(time.Second)
	if err != nil {
		return nil, release, err
	}
	defer unlock()
	sessions, err := lists.Make(heldDir)
	if err != nil {
		return nil, release, err
	}
	defer sessions.Close()
	alone := true
	if free, err := sessions.Lock(private.Exclusive); err == nil {
		free()
	} else {
		alone = !errors.Is(err, private.ErrLocked)
	}
	if held, err := sessions.Lock(private.Shared); err == nil {
		release = held
	}
	home, err := server.Make("home")
	if err != nil {
		return nil, release, err
	}
	defer home.Close()
	m := &maker{root: home.Root(), home: filepath.Join(h.StateDir, h.Server, "home"), alone: alone, now: list{Links: map[string]string{}}}
	text, err := lists.ReadFile(listFile, maxList)
	if err == nil {
		err = json.Unmarshal(text, &m.before)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.before = list{} // what it named stays
	}
	m.update(wanted)
	now, err := json.Marshal(m.now)
	if err == nil && !bytes.Equal(now, text) {
		err = lists.Replace(listFile, now, private.How{})
	}
	return m.told, release, errors.Join(m.err, err)
}

// update removes what is not wanted, and makes what is.
func (m *maker) update(wanted []policy.HomeLink) {
	wanted = slices.Clone(wanted)
	slices.SortFunc(wanted, func(a, b policy.HomeLink) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	for _, at := range slices.Sorted(maps.Keys(m.before.Links)) {
		if target := m.before.Links[at]; !m.isWanted(wanted, at, target) {
			m.drop(at, target)
		}
	}
	for _, w := range wanted {
		m.place(w)
	}
	for _, at := range slices.Sorted(maps.Keys(m.before.Links)) {
		if _, kept := m.now.Links[at]; !kept && m.before.Links[at] != "" {
			m.drop(at, m.before.Links[at])
		}
	}
	m.dropDirs()
}

// isWanted reports whether a link that was made is one that is wanted, or one of the entries of a
// directory that is wanted.
func (m *maker) isWanted(wanted []policy.HomeLink, at, target string) bool {
	return slices.ContainsFunc(wanted, func(w policy.HomeLink) bool {
		return w.Path == at && w.Target == target || w.Path == path.Dir(at) && path.Join(w.Target, path.Base(at)) == target
	})
}

// drop removes a link that has still the target of the list. While another session runs, the link
// stays, and so does its line.
func (m *maker) drop(at, target string) {
	delete(m.before.Links, at)
	dir, name, ok := m.find(at)
	if !ok {
		return
	}
	defer dir.Close()
	if found, err := dir.Readlink(name); err != nil || found != target {
		return
	}
	if !m.alone || dir.Remove(name) != nil {
		m.now.Links[at] = target
	}
}

// dropDirs removes the directories that were made for links, and are empty now.
func (m *maker) dropDirs() {
	dirs := append(m.before.Dirs, m.now.Dirs...)
	slices.Sort(dirs)
	dirs, m.now.Dirs = slices.Compact(dirs), nil
	for _, at := range slices.Backward(dirs) {
		for used := range m.now.Links {
			if policy.Within("/"+used, "/"+at) {
				m.now.Dirs = append(m.now.Dirs, at)
				break
			}
		}
		if slices.Contains(m.now.Dirs, at) {
			continue
		}
		dir, name, ok := m.find(at)
		if !ok {
			continue
		}
		info, err := dir.Lstat(name)
		switch {
		case err != nil || !info.IsDir():
		case !m.alone:
			m.now.Dirs = append(m.now.Dirs, at)
		default:
			_ = dir.Remove(name) // a directory that is not empty stays
		}
		dir.Close()
	}
	slices.Sort(m.now.Dirs)
}

// tell adds a line for the user, if it was not told at an earlier start.
func (m *maker) tell(at, format string, args ...any) {
	if slices.Contains(m.now.Told, at) {
		return
	}
	m.now.Told = append(m.now.Told, at)
	if !slices.Contains(m.before.Told, at) {
		m.told = append(m.told, fmt.Sprintf(format, args...))
	}
}
