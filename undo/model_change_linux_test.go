package undo

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// change is a change of the workspace, by a server or, without an actor, by the user.
type change struct {
	*model
	a *actor
}

// in returns the directory of a path and its last part, or false.
func (c change) in(name string) (dir int, base string, ok bool) {
	p, err := object.OpenPlace(c.at(name))
	if err != nil {
		return -1, "", false
	}
	return p.Dir, p.Name, true
}

// keep has the keeper of a server keep a name.
func (c change) keep(name string, removed bool) bool {
	dir, base, ok := c.in(name)
	if !ok {
		return false
	}
	defer unix.Close(dir)
	if c.a != nil {
		c.touches(c.a, name)
		if removed {
			c.opens(c.a, name)
		}
		c.a.keeper.Name(dir, base, c.at(name), removed)
	}
	return true
}

func (c change) open(name string, flags int) *os.File {
	dir, _, ok := c.in(name)
	if !ok {
		return nil
	}
	defer unix.Close(dir)
	full := c.at(name)
	o, stands := c.tree[name]
	switch {
	case stands && o.kind != File:
		return nil
	case c.a != nil && stands:
		c.touches(c.a, name)
		c.opens(c.a, name)
		fd, err := unix.Open(full, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		c.check(err)
		c.a.keeper.Content(fd, full)
		unix.Close(fd)
	case c.a != nil:
		c.keep(name, false)
	}
	f, err := os.OpenFile(full, flags|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil
	}
	if c.a != nil && !stands {
		c.a.keeper.Made(int(f.Fd()), full)
	}
	return f
}

func (c change) write(name string, flags int, text string) {
	f := c.open(name, flags)
	if f == nil {
		return
	}
	f.WriteString(text)
	f.Close()
	if b, err := os.ReadFile(c.at(name)); err == nil && c.a == nil {
		c.users[string(b)] = true
	}
}

func (c change) rename(from, to string, flags uint) {
	fd, fb, ok := c.in(from)
	if !ok {
		return
	}
	defer unix.Close(fd)
	td, tb, ok := c.in(to)
	if !ok {
		return
	}
	defer unix.Close(td)
	if _, stands := c.tree[from]; c.a != nil && stands {
		paths := c.tree.below(from)
		for _, p := range c.tree.below(from) {
			paths = append(paths, to+p[len(from):])
		}
		if flags == unix.RENAME_EXCHANGE {
			for _, p := range c.tree.below(to) {
				paths = append(paths, p, from+p[len(to):])
			}
		}
		c.touches(c.a, append(paths, from, to)...)
		if flags != unix.RENAME_EXCHANGE {
			c.opens(c.a, to)
		}
		c.a.keeper.Rename(fd, fb, c.at(from), td, tb, c.at(to), flags == unix.RENAME_EXCHANGE)
	}
	unix.Renameat2(fd, fb, td, tb, flags)
}

// attributes changes the mode or the time of an object.
func (c change) attributes(name string) {
	o, stands := c.tree[name]
	dir, base, ok := c.in(name)
	if !ok || !stands {
		return
	}
	defer unix.Close(dir)
	if c.a != nil {
		c.touches(c.a, name)
		fd, err := unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		c.check(err)
		c.a.keeper.Attributes(fd, c.at(name))
		unix.Close(fd)
	}
	modes := map[Kind][]uint32{File: {0o600, 0o644, 0o755}, Dir: {0o700, 0o755, 0o777}}[o.kind]
	if o.kind == Link || rapid.Bool().Draw(c.rt, "times") {
		at := unix.NsecToTimespec(1e18 + int64(c.step))
		unix.UtimesNanoAt(dir, base, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
	} else {
		unix.Fchmodat(dir, base, rapid.SampledFrom(modes).Draw(c.rt, "mode"), 0)
	}
}

// theUsers returns the paths at which the user has put something since the beginning.
func (c change) theUsers() (out []string) {
	for _, p := range slices.SortedFunc(maps.Keys(c.tree), c.inOrder) {
		if slices.Contains(c.put[c.tree[p].text], p) {
			out = append(out, p)
		}
	}
	return out
}

// one carries out a random change.
func (c change) one() {
	ops := []string{"write", "write", "append", "overwrite", "save", "remove", "rename", "rename", "exchange", "mkdir", "symlink", "link", "attributes", "directory to link", "copy"}
	if c.a != nil {
		ops = append(ops, "hold", "hold", "held")
	}
	op, name := c.draw("change", ops...), c.path("path")
	if users := c.theUsers(); c.a != nil && len(users) > 0 && rapid.IntRange(0, 2).Draw(c.rt, "the user's") == 0 {
		name = c.draw("user's", users...)
	}
	c.do(op, name)
}

// do carries out a change at a path.
func (c change) do(op, name string) {
	who := "user"
	if c.a != nil {
		who = c.a.name
	}
	switch op {
	case "write":
		c.write(name, os.O_TRUNC, c.text(c.a))
	case "append":
		c.write(name, os.O_APPEND, c.text(c.a))
	case "overwrite":
		c.write(name, 0, c.text(c.a))
	case "save":
		c.write(path.Join(path.Dir(name), "t"), os.O_TRUNC, c.text(c.a))
		c.became(c.a, false)
		c.rename(path.Join(path.Dir(name), "t"), name, 0)
	case "copy":
		if o := c.tree[c.path("of")]; o.kind == File {
			c.copied[o.text] = true
			c.write(name, os.O_TRUNC, o.text)
		}
	case "remove":
		flag := 0
		if c.tree[name].kind == Dir {
			flag = unix.AT_REMOVEDIR
		}
		if c.keep(name, true) {
			unix.Unlinkat(unix.AT_FDCWD, c.at(name), flag)
		}
	case "rename", "exchange":
		to := c.path("to")
		who += " to " + to
		c.rename(name, to, map[string]uint{"exchange": unix.RENAME_EXCHANGE}[op])
	case "mkdir":
		if c.keep(name, false) {
			unix.Mkdir(c.at(name), 0o755)
		}
	case "symlink":
		if text := c.text(c.a); c.keep(name, false) {
			unix.Symlink(text, c.at(name))
		}
	case "link":
		to := c.path("to")
		who += " to " + to
		c.link(name, to)
	case "attributes":
		c.attributes(name)
	case "directory to link":
		c.directoryToLink(name)
	case "hold":
		if f := c.open(name, os.O_APPEND); f != nil && c.a.held[name] == nil {
			c.a.held[name] = f
		} else if f != nil {
			f.Close()
		}
	case "held":
		c.writeHeld()
	}
	c.note("%s %s %s", op, name, who)
}

func (c change) link(from, to string) {
	if o, stands := c.tree[from]; !stands || o.kind != File {
		return
	}
	if c.a != nil {
		c.touches(c.a, from)
		fd, err := unix.Open(c.at(from), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		c.check(err)
		c.a.keeper.Attributes(fd, c.at(from))
		unix.Close(fd)
	}
	if c.keep(to, false) {
		os.Link(c.at(from), c.at(to))
	}
}

// directoryToLink replaces a directory by a symbolic link to it, or makes that undone.
func (c change) directoryToLink(name string) {
	away := strings.ReplaceAll(name, "/", "_") + "_"
	switch _, stands := c.tree[away]; {
	case c.tree[name].kind == Dir && !stands:
		c.rename(name, away, 0)
		c.became(c.a, false)
		if c.keep(name, false) {
			os.Symlink(c.at(away), c.at(name))
		}
	case c.tree[name].kind == Link && stands && c.keep(name, true):
		os.Remove(c.at(name))
		c.became(c.a, false)
		c.rename(away, name, 0)
	}
}

// writeHeld writes to a file that the server keeps open, or closes it.
func (c change) writeHeld() {
	names := slices.Sorted(maps.Keys(c.a.held))
	if len(names) == 0 {
		return
	}
	name := c.draw("held", names...)
	f := c.a.held[name]
	c.touch(c.a, false, c.namesOf(f)...) // what the server still has open is about to change
	f.WriteString(c.text(c.a))
	if rapid.Bool().Draw(c.rt, "close") {
		f.Close()
		delete(c.a.held, name)
	}
}

// namesOf returns the paths of an open file.
func (m *model) namesOf(f *os.File) (paths []string) {
	var st unix.Stat_t
	m.check(unix.Fstat(int(f.Fd()), &st))
	for p, o := range m.tree {
		if o.inode == st.Ino {
			paths = append(paths, p)
		}
	}
	return paths
}
