package confine

import (
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// mountOp is one thing that the shim attaches to the jail's root. The list is
// in order: what is attached first lies below what comes later.
type mountOp struct {
	kind   mountKind
	path   string // absolute, the same name inside and outside
	dir    bool
	ro     bool
	noexec bool
	dev    bool          // device nodes keep working
	id     policy.FileID // the object that must be found at path; zero: not checked
	// inside is set where path lies within something attached before: it must
	// exist already, because nothing is ever created on the host. Otherwise the
	// name is made in the jail's own root.
	inside bool
	// copied is set where path lies in a copy: what is found there is no object of
	// the host's, and has another identity.
	copied bool
	// hidden is set where that name lies in a mask with holes: the directories
	// that are made on the way to it are as shut as the mask.
	hidden bool
	// holes is set on a mask below which something is granted again: such a mask
	// can be passed through, but not listed.
	holes bool
}

type mountKind uint8

const (
	mountBind  mountKind = iota + 1 // the host's object
	mountMask                       // an empty, unreadable stand-in
	mountTmpfs                      // a private, size-limited directory
	mountCopy                       // the host's directory, and changes that only the jail sees
	mountPin                        // what is there already, once more
)

// cloned tells of a mount of something of the host's, which is cloned before
// anything is attached.
func (op *mountOp) cloned() bool { return op.kind == mountBind || op.kind == mountCopy }

// inMemory tells of a filesystem of the jail's own that the server can fill.
func (op *mountOp) inMemory() bool { return op.kind == mountTmpfs || op.kind == mountCopy }

// ownPlaces are the directories of every jail that are not the host's, with
// what Landlock grants in them.
var ownPlaces = []string{"/tmp", "/dev/shm"}

// below are the directories that own places can lie in, when a rule grants them.
var below = []string{"/", "/dev"}

// compileMounts turns the flat entries of a profile into mounts.
//
// A mount can take rights away where Landlock only adds them, and knows few
// degrees: nothing, read-only, not executable, as before. policy refuses the
// profiles that would need something between, so that for every path
//
//	rights(Landlock rules of all ancestors) ∩ rights(mount) = rights(entry)
//
// What cannot hold all the same (a grant of the host's that lies below the
// jail's own /tmp, where Landlock grants everything) comes back as a Gap.
//
// Directories between a grant and a carve-out below it are bound onto
// themselves (pins): renaming them fails with EBUSY, so that a protected name
// cannot be moved out of the way and made anew, nor anything to where the search
// of the next start does not find it.
//
// An ephemeral entry is mounted as a copy, or as an empty directory where copies
// says that there are none.
func compileMounts(entries []policy.Entry, copies bool) ([]mountOp, []Gap) {
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].Kind != policy.KindDir {
			// Making and removing a file is its directory's business.
			entries[i].Rights &^= policy.Create | policy.Delete
		}
	}
	c := mountCompiler{entries: entries, copies: copies, state: map[string]mountState{
		"/dev": {own: true},
	}}
	for _, p := range below { // what the own places lie on
		if e, ok := c.find(p); ok {
			c.entry(e)
		}
	}
	for _, place := range ownPlaces {
		if e, ok := c.find(place); ok && e.Rights != 0 {
			continue // the user grants the host's directory of that name
		}
		c.add(mountOp{kind: mountTmpfs, path: place, dir: true}, mountState{own: true, rights: policy.AllRights})
	}
	for _, e := range entries {
		switch {
		case slices.Contains(below, e.Path):
		case policy.Within(e.Path, "/proc"):
			c.gaps = append(c.gaps, Gap{
				Axis: policy.AxisFs, What: e.Rule, Fatal: true, Why: neverProc,
				Fix: "remove the rule: a server always sees its own processes below /proc",
			})
		default:
			c.entry(e)
		}
	}
	return c.ops, c.gaps
}

// neverProc is why no rule can be about the host's /proc, in any sort of jail: it tells of
// all processes, and what a path in it is depends on who asks.
const neverProc = "the host's /proc is never shown to a server"

// mountState is what holds at a path after the mounts so far.
type mountState struct {
	own    bool // a directory of the jail itself: names can be made in it
	masked bool
	copied bool // a copy of the host's, or a pin in one
	ro     bool
	noexec bool
	rights policy.Rights // union of what Landlock grants here
}

type mountCompiler struct {
	entries []policy.Entry
	copies  bool
	ops     []mountOp
	gaps    []Gap
	state   map[string]mountState
}

func (c *mountCompiler) add(op mountOp, s mountState) {
	c.ops = append(c.ops, op)
	c.state[op.path] = s
}

// find returns the entry of exactly that path.
func (c *mountCompiler) find(p string) (policy.Entry, bool) {
	for _, e := range c.entries {
		if e.Path == p {
			return e, true
		}
	}
	return policy.Entry{}, false
}

// at returns the state that covers p, that of its nearest ancestor or itself,
// and the path where it begins.
func (c *mountCompiler) at(p string) (mountState, string) {
	for {
		if s, ok := c.state[p]; ok {
			return s, p
		}
		if p == "/" {
			return mountState{own: true}, "/"
		}
		p = path.Dir(p)
	}
}

func (c *mountCompiler) entry(e policy.Entry) {
	cover, coverPath := c.at(e.Path)
	made := cover.own || cover.masked // nothing of the host is at the path yet
	if made && e.Rights == 0 {
		return
	}
	around := cover.rights
	if e.Kind != policy.KindDir {
		around &^= policy.Create | policy.Delete
	}
	op := mountOp{
		kind: mountBind, path: e.Path, dir: e.Kind == policy.KindDir, id: e.ID,
		ro: e.Rights&policy.Write == 0, inside: !made, copied: cover.copied, hidden: cover.masked, dev: policy.Within(e.Path, "/dev"),
		// Landlock grants execution to everything below: only the mount takes it back.
		noexec: cover.rights.Has(policy.Execute) && !e.Rights.Has(policy.Execute),
	}
	s := mountState{ro: op.ro, noexec: op.noexec, rights: cover.rights | e.Rights}
	switch {
	case e.Ephemeral && c.copies:
		op.kind, s.copied = mountCopy, true
	case e.Ephemeral:
		op.kind, s.own = mountTmpfs, true
	}
	if e.Rights == 0 {
		op = mountOp{kind: mountMask, path: e.Path, dir: op.dir, id: e.ID, inside: true, copied: cover.copied, holes: c.grantsBelow(e.Path)}
		s = mountState{masked: true, rights: cover.rights}
	} else if !expressible(around, e.Rights) {
		c.gaps = append(c.gaps, Gap{
			Axis: policy.AxisFs, What: e.Rule + ": exactly " + e.Rights.String(),
			Why: "around " + e.Path + " the server holds " + cover.rights.String() + ", and a mount can only take away everything, writing, or execution",
			Fix: "grant read, or read and write, or move the directory out of /tmp",
		})
	}
	if e.Kind == policy.KindSpecial && e.Rights != 0 && around.Has(policy.Update) && !e.Rights.Has(policy.Update) {
		c.gaps = append(c.gaps, Gap{
			Axis: policy.AxisFs, What: e.Rule + ": no update",
			Why: "a read-only mount does not keep a fifo or a device from being written to, and around " + e.Path + " the server may write",
			Fix: "grant nothing there, or update too",
		})
	}
	if op.inside {
		c.pin(e, cover, coverPath)
	}
	c.add(op, s)
}

// expressible reports whether mounts can reduce around to exactly rights.
func expressible(around, rights policy.Rights) bool {
	taken := around &^ rights
	if rights == 0 {
		return true
	}
	return taken&policy.Read == 0 && (taken&policy.Write == 0 || rights&policy.Write == 0)
}

// pin binds the directories strictly between the cover and the entry onto
// themselves, where the server could otherwise rename them.
func (c *mountCompiler) pin(e policy.Entry, cover mountState, coverPath string) {
	if cover.ro {
		return // nothing can be renamed there
	}
	var between []string
	for p := path.Dir(e.Path); p != coverPath && p != "/"; p = path.Dir(p) {
		between = append(between, p)
	}
	kind := mountBind
	if cover.copied {
		kind = mountPin // the host's object of that name is not what is there
	}
	for i := len(between) - 1; i >= 0; i-- {
		c.add(mountOp{
			kind: kind, path: between[i], dir: true, inside: true,
			noexec: cover.noexec, dev: policy.Within(between[i], "/dev"),
		}, cover)
	}
}

func (c *mountCompiler) grantsBelow(dir string) bool {
	for _, e := range c.entries {
		if e.Path != dir && e.Rights != 0 && policy.Within(e.Path, dir) {
			return true
		}
	}
	return false
}
