package undo

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestModel lets servers and their user change a workspace, and undoes sessions and calls in any
// order. After each undo it asks the model whether the user still has what was the user's, and
// whether only what a server made is gone. It drives the Keeper as the jail's supervisor does.
//
// The seed is fixed. Others are tried by -args -rapid.seed=N, and more by -rapid.checks=N.
func TestModel(t *testing.T) {
	const steps = 40
	checks := 15
	if testkit.Long() {
		checks = 250
	} else if testkit.All() {
		checks = 75
	}
	for name, value := range map[string]any{"rapid.steps": steps, "rapid.checks": checks, "rapid.seed": 10, "rapid.nofailfile": true} {
		if f := flag.Lookup(name); f.Value.String() == f.DefValue {
			f.Value.Set(fmt.Sprint(value))
			defer f.Value.Set(f.DefValue)
		}
	}
	disk := newSmallDisk(t)
	taken := 0
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt, t, disk)
		defer m.close()
		rt.Repeat(m.steps())
		taken += m.step
	})
	t.Logf("%d steps", taken)
}

// modelTB lets the functions of a world fail a check of rapid.
type modelTB struct {
	testing.TB
	rt *rapid.T
}

func (tb modelTB) Helper()                        { tb.rt.Helper() }
func (tb modelTB) Errorf(format string, a ...any) { tb.rt.Errorf(format, a...) }
func (tb modelTB) Fatalf(format string, a ...any) { tb.rt.Fatalf(format, a...) }
func (tb modelTB) Error(a ...any)                 { tb.rt.Error(a...) }
func (tb modelTB) Fatal(a ...any)                 { tb.rt.Fatal(a...) }
func (tb modelTB) Cleanup(f func())               { tb.rt.Cleanup(f) }

// object is what stands at a path of the workspace.
type object struct {
	kind  Kind
	text  string // the content of a file, or the target of a link
	inode uint64
	names uint64
	mode  fs.FileMode
	mtime int64
}

// has reports whether an object looks like another one.
func (o object) has(other object) bool { return o.kind == other.kind && o.text == other.text }

// workspace has the objects by their paths below the root.
type workspace map[string]object

func (w workspace) places(text string) (out []string) {
	for p, o := range w {
		if o.text == text {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// below returns a path and what is below it.
func (w workspace) below(top string) (out []string) {
	for p := range w {
		if p == top || strings.HasPrefix(p, top+"/") {
			out = append(out, p)
		}
	}
	return out
}

// withoutTemps leaves out the temporary names of undos. They are nobody's, so an undo that removes one
// which an earlier undo has left does not record it.
func (w workspace) withoutTemps() workspace {
	out, names := workspace{}, map[uint64]uint64{}
	for p, o := range w {
		if !strings.HasPrefix(path.Base(p), tempPrefix) {
			out[p] = o
			names[o.inode]++
		}
	}
	for p, o := range out {
		o.names = names[o.inode]
		out[p] = o
	}
	return out
}

// String has a line for each path. Names of one object have the first of them.
func (w workspace) String() string {
	first := map[uint64]string{}
	var out strings.Builder
	for _, p := range slices.Sorted(maps.Keys(w)) {
		o := w[p]
		fmt.Fprintf(&out, "%s %c %v", p, o.kind, o.mode)
		if o.kind != Dir {
			fmt.Fprintf(&out, " %q %d", o.text, o.mtime)
		}
		if o.kind == File && o.names > 1 {
			if first[o.inode] == "" {
				first[o.inode] = p
			}
			out.WriteString(" = " + first[o.inode])
		}
		out.WriteString("\n")
	}
	return out.String()
}

// span is a session or one of its calls, as the model knows it. An undo is a session, too.
type span struct {
	of            *actor
	call          int // 0: the whole session
	began, ended  int // steps; ended is 0 while it runs
	before, after workspace
	mixed         bool            // others changed something meanwhile
	lost          bool            // something was not kept
	paths         map[string]int  // when it touched a path first
	inodes        map[uint64]int  // when it touched an object first
	exposed       map[string]bool // texts, and paths, of the user's that it touched once more
	again, left   []*span         // of an undo: what was in effect before and after it
	weak          bool            // its undo need not be complete
}

// actor is a session with its jail, or an undo.
type actor struct {
	name   string
	id     string
	writer *Writer
	files  *Files
	keeper *Keeper
	held   map[string]*os.File // files that the server keeps open
	spans  []*span             // the session, and then its calls
	undoes *span
}

// model is the reference. It knows what each text in the workspace is, and whose each name is.
type model struct {
	*world
	rt      *rapid.T
	disk    *smallDisk
	alone   bool // the user does nothing
	full    bool // the disk is
	step    int
	next    int
	tree    workspace
	actors  []*actor
	live    []*actor
	users   map[string]bool     // texts of the user's
	been    map[string][]string // where each text has been
	copied  map[string]bool     // those that a server has copied
	placed  map[string]int      // when a text came to where it is, by the user or an undo
	maker   map[string]*actor   // who gave a path its name last; nil: the user
	named   map[string]int      // when
	stack   []*span             // what is in effect, in the order in which it began
	weak    int                 // what began until then need not be undone completely
	history []string
}

// scan reads the workspace.
func (m *model) scan() workspace {
	out := workspace{}
	m.check(filepath.WalkDir(m.root, func(full string, d fs.DirEntry, err error) error {
		m.check(err)
		info, err := d.Info()
		m.check(err)
		st := info.Sys().(*syscall.Stat_t)
		o := object{kind: kindOf(st.Mode), inode: st.Ino, names: uint64(st.Nlink), mode: info.Mode(), mtime: info.ModTime().UnixNano()}
		switch o.kind {
		case File:
			b, err := os.ReadFile(full)
			m.check(err)
			o.text = string(b)
		case Link:
			o.text, err = os.Readlink(full)
			m.check(err)
		}
		if rel, _ := filepath.Rel(m.root, full); rel != "." {
			out[rel] = o
		}
		return nil
	}))
	return out
}

// disturb says that nothing that has begun so far need be undone completely.
func (m *model) disturb() {
	m.weak, m.stack = m.step, nil
	m.step++
}

// became takes over what an actor has done. Without an actor it was the user.
func (m *model) became(a *actor, byUndo bool) {
	now := m.scan()
	if a == nil || byUndo {
		m.hidden(now)
	}
	for p, o := range now {
		if was, ok := m.tree[p]; !ok || was.inode != o.inode {
			m.maker[p], m.named[p] = a, m.step
		}
		m.been[o.text] = append(m.been[o.text], p)
		if was, ok := m.tree[p]; (a == nil || byUndo) && (!ok || was.text != o.text) {
			m.placed[o.text] = m.step
		}
	}
	m.tree = now
	for _, l := range m.live {
		for _, sp := range l.spans {
			sp.mixed = sp.mixed || sp.ended == 0 && l != a
		}
	}
}

// hidden notes what others change at paths that a server may still write by a descriptor: it counts
// as the server's.
func (m *model) hidden(now workspace) {
	for _, a := range m.live {
		pending := map[uint64]bool{}
		for full := range a.keeper.pending {
			p, _ := filepath.Rel(m.root, full)
			pending[now[p].inode], pending[m.tree[p].inode] = true, true
		}
		for p, o := range now {
			if was := m.tree[p]; (pending[o.inode] || pending[was.inode]) && was != o {
				for _, sp := range a.spans {
					sp.exposed[p], sp.exposed[o.text] = true, true
				}
			}
		}
	}
}

// touches says that a server is about to touch paths.
func (m *model) touches(a *actor, paths ...string) {
	for _, sp := range a.spans {
		if sp.ended != 0 {
			continue
		}
		for _, p := range paths {
			o, stands := m.tree[p]
			at, known := sp.paths[p]
			if stands && known && at < m.named[p] {
				sp.exposed[p] = true
			}
			if in, ok := sp.inodes[o.inode]; stands && (known && at < m.placed[o.text] || ok && in < m.placed[o.text]) {
				sp.exposed[o.text] = true
			}
			if !known {
				sp.paths[p] = m.step
			}
			if _, ok := sp.inodes[o.inode]; stands && !ok {
				sp.inodes[o.inode] = m.step
			}
		}
	}
}

// undone is what an undo did.
type undone struct {
	lost bool // it cannot say everything
	*span
	from, to workspace
	said     string // what it left, with the reasons
	killed   bool
}

// judge fails unless the user still has everything.
func (m *model) judge(u *undone) {
	m.texts(u)
	if u.killed {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(u.from)) {
		was := u.from[p]
		now, stands := u.to[p]
		_, touched := u.paths[p]
		_, object := u.inodes[was.inode]
		touched = touched || object || was.names > 1 || u.before[p].names > 1 || u.below(p)
		switch {
		case strings.HasPrefix(path.Base(p), tempPrefix):
		case m.maker[p] == nil && !u.exposed[p] && (!stands || now.kind != was.kind):
			m.fail(u, "%s has the user's name and is %q now", p, now.kind)
		case !touched && (!stands || !now.has(was)):
			m.fail(u, "the session did not touch %s, and it is gone or another one", p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(u.to)) {
		_, was := u.from[p]
		if _, touched := u.paths[p]; !was && !touched && u.of.undoes == nil && strings.HasPrefix(path.Base(p), tempPrefix) && !strings.Contains(u.said, p) {
			m.fail(u, "%s is left", p)
		}
	}
	if u.mixed || u.weak || u.lost || u.span.lost || u.ended == 0 || u.of.undoes != nil {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(u.paths)) {
		if want, now := u.before[p], u.to[p]; !want.has(u.after[p]) && !want.has(now) && !u.names(p) {
			m.fail(u, "%s is %q, and should be %q, and is not named", p, now.text, want.text)
		}
	}
}

// below reports whether a directory above a path was touched.
func (u *undone) below(p string) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if _, ok := u.paths[dir]; ok {
			return true
		}
	}
	return false
}

// names reports whether the undo names a path, or one above or below it.
func (u *undone) names(p string) bool {
	for line := range strings.Lines(u.said) {
		said, _, _ := strings.Cut(line, ": ")
		if said == p || strings.HasPrefix(said, p+"/") || strings.HasPrefix(p, said+"/") {
			return true
		}
	}
	return false
}

// texts fails unless each text of the user's is where it was before the undo or before the session.
func (m *model) texts(u *undone) {
	for _, text := range slices.Sorted(maps.Keys(m.users)) {
		from := u.from.places(text)
		if len(from) == 0 || m.copied[text] {
			continue
		}
		may := append(from, u.before.places(text)...)
		if m.placed[text] > u.began { // the user has written it meanwhile
			may = append(may, m.been[text]...)
		}
		if slices.ContainsFunc(u.to.places(text), func(p string) bool {
			temp := strings.HasPrefix(path.Base(p), tempPrefix)
			return slices.Contains(may, p) || temp && (u.killed || strings.Contains(u.said, p))
		}) {
			continue
		}
		// The user asked for it: what an undo has put back is gone when that undo is undone. And what
		// others write between two changes of the server is replaced. Both are kept.
		asked := u.of.undoes != nil && u.made(text, from)
		if !asked && !u.exposed[text] {
			slices.Sort(may)
			m.fail(u, "%q was at %v, and is at %v", text, slices.Compact(may), u.to.places(text))
		}
		if u.from[from[0]].kind == File && !m.isStored(text) {
			m.fail(u, "%q is gone, and not kept", text)
		}
	}
}

// made reports whether an undo has put a text where it is, and did not take it from another place.
func (sp *span) made(text string, at []string) bool {
	had := sp.before.places(text)
	return !slices.ContainsFunc(at, func(p string) bool { return slices.Contains(had, p) || sp.after[p].text != text }) &&
		(len(had) == 0 || slices.ContainsFunc(had, func(p string) bool { return sp.after[p].text == text }))
}

// isStored reports whether the store has a text.
func (m *model) isStored(text string) (found bool) {
	filepath.WalkDir(m.store.Dir, func(name string, d fs.DirEntry, err error) error {
		if b, _ := os.ReadFile(name); bytes.Contains(b, []byte(text)) {
			found = true
		}
		return nil
	})
	return found
}

func (m *model) fail(u *undone, format string, a ...any) {
	m.rt.Helper()
	m.rt.Logf("%s\nbefore the session:\n%s\nbefore the undo:\n%s\nafter it:\n%s", strings.Join(m.history, "\n"), u.before, u.from, u.to)
	m.rt.Fatalf(format, a...) // without times: rapid compares the texts of failures
}

// smallDisk is a filesystem that can be filled, or a directory where nobody can mount one.
type smallDisk struct {
	dir   string
	small bool
	fine  bool
}

// leave fills the disk but for free bytes. With -1 it makes room.
func (d *smallDisk) leave(free int64) {
	filler := filepath.Join(d.dir, "filler")
	os.Remove(filler)
	var st unix.Statfs_t
	if free < 0 || unix.Statfs(d.dir, &st) != nil {
		return
	}
	if size := int64(st.Bavail)*st.Bsize - free; size > 0 {
		os.WriteFile(filler, make([]byte, size), 0o600)
	}
}

// tick waits until the clock of inodes has gone on.
func tick() {
	var was, now unix.Timespec
	unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &was)
	for now = was; now == was; unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) {
		time.Sleep(time.Millisecond)
	}
}

// tick waits until a change gives an inode another time than the changes so far. Where the kernel
// gives an inode that was looked at a finer time, nothing has to be waited for.
func (d *smallDisk) tick() {
	if !d.fine {
		tick()
	}
}

// hasFineTimes reports whether the kernel does so.
func (d *smallDisk) hasFineTimes() bool {
	var was unix.Timespec
	for range 20 {
		var st unix.Stat_t
		unix.Chmod(d.dir, 0o700)
		if unix.Stat(d.dir, &st) != nil || st.Ctim == was {
			return false
		}
		was = st.Ctim
	}
	return true
}
