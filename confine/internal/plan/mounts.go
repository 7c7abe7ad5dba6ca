package plan

import (
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// parentsOfOwnPlaces lists the directories that can contain the jail's own places if a rule
// grants them.
var parentsOfOwnPlaces = []string{"/", "/dev"}

// CompileMounts turns the flat entries of a profile into mounts.
//
// A mount can take rights away where Landlock only adds them, and knows few
// degrees: nothing, read-only, not executable, as before. policy refuses the
// profiles that would need something between, so that for every path
//
//	rights(Landlock rules of all ancestors) ∩ rights(mount) = rights(entry)
//
// An entry that does not fit all the same comes back as a Gap, for example a grant below the
// jail's own /tmp, where Landlock grants everything.
//
// Directories between a grant and a carve-out below it are bound onto
// themselves (holds): renaming them fails with EBUSY. So the server cannot move a
// protected name out of the way and make it anew. It also cannot move a file to a
// place where the search for protected names at the next start does not find it.
//
// An ephemeral entry, the private HOME, is mounted as a copy. It is an empty directory if copies is
// false.
func CompileMounts(entries []policy.Entry, copies bool) ([]spec.Mount, []Gap) {
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].Kind != policy.KindDir {
			// The rights of its directory decide whether a file can be made or removed.
			entries[i].Rights &^= policy.Create | policy.Delete
		}
	}
	c := mountCompiler{entries: entries, copies: copies, state: map[string]mountState{
		"/dev": {own: true},
	}}
	for _, p := range parentsOfOwnPlaces {
		if e, ok := c.find(p); ok {
			c.entry(e)
		}
	}
	for _, place := range spec.PrivateDirs {
		if e, ok := c.find(place); ok && e.Rights != 0 {
			continue // the user grants the host's directory of that name
		}
		c.add(spec.Mount{Kind: spec.MountTmpfs, Path: place, IsDir: true}, mountState{own: true, rights: policy.AllRights})
	}
	for _, e := range entries {
		switch {
		case slices.Contains(parentsOfOwnPlaces, e.Path):
		case policy.Within(e.Path, "/proc"):
			c.gaps = append(c.gaps, Gap{
				Axis: policy.AxisFs, What: e.Rule, Fatal: true, Why: neverProc,
				Fix: "remove the rule: a server always sees its own processes below /proc",
			})
		default:
			c.entry(e)
		}
	}
	return c.mounts, c.gaps
}

// neverProc is why a rule for a path in /proc is a fatal gap in both kinds of jail: /proc describes
// all processes, and the meaning of a path in it depends on the process that opens it.
const neverProc = "this machine's /proc is never shown to a server"

// mountState is what holds at a path after the mounts so far.
type mountState struct {
	own    bool // a directory of the jail itself: names can be made in it
	masked bool
	copied bool // a copy of the host's, or a hold in one
	ro     bool
	noexec bool
	rights policy.Rights // union of what Landlock grants here
}

type mountCompiler struct {
	entries []policy.Entry
	copies  bool
	mounts  []spec.Mount
	gaps    []Gap
	state   map[string]mountState
}

func (c *mountCompiler) add(m spec.Mount, s mountState) {
	c.mounts = append(c.mounts, m)
	c.state[m.Path] = s
}

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
		if p == path.Dir(p) {
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
	m := spec.Mount{
		Kind: spec.MountBind, Path: e.Path, IsDir: e.Kind == policy.KindDir, ID: e.ID,
		ReadOnly: e.Rights&policy.Write == 0, OnExisting: !made, InOverlay: cover.copied, UnderMask: cover.masked, Dev: policy.Within(e.Path, "/dev"),
		// Landlock grants execution to everything below: only the mount takes it back.
		NoExec: cover.rights.Has(policy.Execute) && !e.Rights.Has(policy.Execute),
	}
	s := mountState{ro: m.ReadOnly, noexec: m.NoExec, rights: cover.rights | e.Rights}
	switch {
	case !e.Ephemeral:
	case c.copies:
		m.Kind, s.copied = spec.MountOverlay, true
	default:
		m.Kind, s.own = spec.MountTmpfs, true
	}
	if e.Rights == 0 {
		m = spec.Mount{Kind: spec.MountMask, Path: e.Path, IsDir: m.IsDir, ID: e.ID, OnExisting: true, InOverlay: cover.copied, Traversable: c.grantsBelow(e.Path)}
		s = mountState{masked: true, rights: cover.rights}
	} else if !expressible(around, e.Rights) {
		c.gaps = append(c.gaps, Gap{
			Axis: policy.AxisFs, What: e.Rule + ": exactly " + e.Rights.String(),
			Why: "around " + e.Path + " the server holds " + cover.rights.String() + ", and a mount can only take away everything, writing, or execution",
			Fix: "grant read, or read and write (--read, --write), or move the directory out of /tmp",
		})
	}
	if e.Kind == policy.KindSpecial && e.Rights != 0 && around.Has(policy.Update) && !e.Rights.Has(policy.Update) {
		c.gaps = append(c.gaps, Gap{
			Axis: policy.AxisFs, What: e.Rule + ": no update",
			Why: "a read-only mount does not keep a fifo or a device from being written to, and around " + e.Path + " the server may write",
			Fix: "grant nothing there, or update too",
		})
	}
	if m.OnExisting {
		c.hold(e, cover, coverPath)
	}
	c.add(m, s)
}

func expressible(around, rights policy.Rights) bool {
	taken := around &^ rights
	if rights == 0 {
		return true
	}
	return taken&policy.Read == 0 && (taken&policy.Write == 0 || rights&policy.Write == 0)
}

// hold binds the directories strictly between the cover and the entry onto
// themselves, where the server could otherwise rename them.
func (c *mountCompiler) hold(e policy.Entry, cover mountState, coverPath string) {
	if cover.ro {
		return // nothing can be renamed there
	}
	var between []string
	for p := path.Dir(e.Path); p != coverPath && p != path.Dir(p); p = path.Dir(p) {
		between = append(between, p)
	}
	kind := spec.MountBind
	if cover.copied {
		kind = spec.MountPin // the copy has another object at that path than the host
	}
	for i := len(between) - 1; i >= 0; i-- {
		c.add(spec.Mount{
			Kind: kind, Path: between[i], IsDir: true, OnExisting: true,
			NoExec: cover.noexec, Dev: policy.Within(between[i], "/dev"),
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
