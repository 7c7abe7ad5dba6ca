package undo

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func newSmallDisk(t *testing.T) *smallDisk {
	d := &smallDisk{dir: t.TempDir(), small: os.Geteuid() == 0}
	if d.small {
		runtime.LockOSThread() // the thread ends with the test, and its mounts with it
		if err := errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// mount begins with an empty disk. A check then finds the same inode numbers each time, so the
// journals become as long as before, and the disk is full at the same moment.
func (d *smallDisk) mount() (err error) {
	if d.small {
		err = unix.Mount("tmpfs", d.dir, "tmpfs", 0, "size=4m")
	}
	d.fine = d.hasFineTimes()
	return err
}

func (d *smallDisk) unmount() {
	if d.small {
		unix.Unmount(d.dir, unix.MNT_DETACH)
	}
}

func newModel(rt *rapid.T, t *testing.T, disk *smallDisk) *model {
	if err := disk.mount(); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(disk.dir)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "model")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	m := &model{
		world: &world{t: modelTB{t, rt}, root: filepath.Join(dir, "work"), store: Store{Dir: filepath.Join(dir, "store")}},
		rt:    rt, disk: disk, users: map[string]bool{}, been: map[string][]string{}, copied: map[string]bool{}, placed: map[string]int{}, maker: map[string]*actor{}, named: map[string]int{},
	}
	m.alone = rapid.IntRange(0, 2).Draw(rt, "alone") == 0
	for _, name := range []string{"", "d", "d/d", "e"} {
		m.check(os.Mkdir(m.at(name), 0o755))
	}
	for _, name := range []string{"a", "b", "d/a", "d/b", "d/d/a", "e/a"} {
		m.check(os.WriteFile(m.at(name), []byte(m.text(nil)), 0o644))
	}
	m.check(os.Link(m.at("d/b"), m.at("e/b")))
	m.check(os.Symlink(m.text(nil), m.at("l")))
	m.check(os.Symlink("d", m.at("e/l")))
	m.tree = m.scan()
	m.disk.tick()
	return m
}

func (m *model) close() {
	for _, a := range m.live {
		a.files.Finish()
		a.writer.Close()
	}
	m.disk.leave(-1)
	os.RemoveAll(filepath.Dir(m.root))
	m.disk.unmount()
}

// text returns a new text. Without an actor it is the user's.
func (m *model) text(a *actor) string {
	m.next++
	text := fmt.Sprintf("s%05d", m.next)
	if a == nil {
		text = "u" + text[1:]
		m.users[text] = true
	}
	return text
}

func (m *model) steps() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){}
	for name, step := range map[string]func(){
		"server 1": m.serverStep, "server 2": m.serverStep, "server 3": m.serverStep, "server 4": m.serverStep,
		"user": m.userStep, "session": m.sessionStep, "undo 1": m.undoStep, "undo 2": m.undoStep, "disk": m.diskStep,
	} {
		all[name] = func(*rapid.T) { m.step++; step() }
	}
	return all
}

func (m *model) draw(name string, of ...string) string { return rapid.SampledFrom(of).Draw(m.rt, name) }

func (m *model) pick(name string, of int) int { return rapid.IntRange(0, of-1).Draw(m.rt, name) }

// path draws a path at which something stands, or any of some.
func (m *model) path(name string) string {
	some := []string{"a", "b", "c", "d", "d/a", "d/c", "d/d", "e", "e/a", "e/c", "t"}
	there := slices.SortedFunc(maps.Keys(m.tree), m.inOrder)
	if i := rapid.IntRange(0, 2*len(there)+len(some)-1).Draw(m.rt, name); i < 2*len(there) {
		return there[i/2]
	} else {
		return some[i-2*len(there)]
	}
}

// inOrder compares paths. Temporary names depend on the clock, so what stands there decides.
func (m *model) inOrder(a, b string) int {
	key := func(p string) string {
		above, temp, is := strings.Cut(p, tempPrefix)
		if !is {
			return p
		}
		_, below, _ := strings.Cut(temp, "/")
		return above + tempPrefix + below + m.tree[p].text
	}
	return cmp.Or(strings.Compare(key(a), key(b)), strings.Compare(a, b))
}

func (m *model) newName(kind string) string {
	m.next++
	return fmt.Sprint(kind, m.next)
}

func (m *model) note(format string, a ...any) {
	m.history = append(m.history, fmt.Sprintf("%3d ", m.step)+fmt.Sprintf(format, a...))
}

// change is a change of the workspace, by a server or, without an actor, by the user.
type change struct {
	*model
	a *actor
}

// in returns the directory of a path and its last part, or false.
func (c change) in(name string) (dir int, base string, ok bool) {
	dir, base, err := openParent(c.at(name))
	return dir, base, err == nil
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
		paths := append(c.tree.below(from), c.tree.below(to)...)
		for _, p := range c.tree.below(from) {
			paths = append(paths, to+p[len(from):])
		}
		if flags == unix.RENAME_EXCHANGE {
			for _, p := range c.tree.below(to) {
				paths = append(paths, from+p[len(to):])
			}
		}
		c.touches(c.a, append(paths, from, to)...)
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

// changes carries out a random change.
func (c change) one() {
	ops := []string{"write", "write", "append", "overwrite", "save", "remove", "rename", "rename", "exchange", "mkdir", "symlink", "link", "attributes", "directory to link", "copy"}
	if c.a != nil {
		ops = append(ops, "hold", "hold", "held")
	}
	op := c.draw("change", ops...)
	name := c.path("path")
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
	var st unix.Stat_t
	c.check(unix.Fstat(int(f.Fd()), &st))
	for p, o := range c.tree { // what the server still has open is about to change
		if o.inode == st.Ino {
			c.touches(c.a, p)
		}
	}
	f.WriteString(c.text(c.a))
	if rapid.Bool().Draw(c.rt, "close") {
		f.Close()
		delete(c.a.held, name)
	}
}

func (m *model) serverStep() {
	if len(m.live) == 0 {
		m.begin()
	}
	a := m.live[m.pick("server", len(m.live))]
	change{m, a}.one()
	m.became(a, false)
	if len(m.live) > 1 || m.full {
		m.disturb()
	}
}

func (m *model) userStep() {
	if m.alone {
		m.serverStep()
		return
	}
	m.settle()
	change{m, nil}.one()
	m.became(nil, false)
	m.disturb()
	m.disk.tick()
}

func (m *model) diskStep() {
	if m.alone || !m.disk.small {
		m.serverStep()
		return
	}
	free := rapid.SampledFrom([]int64{0, 4096, 8192, 16384, -1, -1, -1, -1}).Draw(m.rt, "free")
	m.note("disk %d", free)
	m.disk.leave(free)
	m.full = free >= 0
	m.disturb()
}

// settle has the keepers look at what the servers left until all of it is on record.
func (m *model) settle() {
	for _, a := range m.live {
		k := a.keeper
		k.mu.Lock()
		for range 2 {
			for _, p := range slices.Sorted(maps.Keys(k.pending)) {
				k.settle(p, k.pending[p], k.Open())
			}
		}
		k.flush()
		k.mu.Unlock()
	}
	m.disk.tick()
}

func (m *model) begin() *actor {
	a := &actor{name: m.newName("S"), held: map[string]*os.File{}}
	var err error
	a.writer, err = m.store.Begin(Head{Server: "test"})
	m.check(err)
	if a.files, err = a.writer.Jail([]string{m.root}); err != nil {
		a.writer.Close()
		m.rt.Skip("the disk is full")
	}
	a.id = a.writer.ID()
	a.keeper = keeperOf(m.t, a.files)
	a.keeper.timer = true // settle does what sweeps do
	a.keeper.Open = func() func(uint64) bool {
		return func(inode uint64) bool {
			for _, f := range a.held {
				var st unix.Stat_t
				if unix.Fstat(int(f.Fd()), &st) == nil && st.Ino == inode {
					return true
				}
			}
			return false
		}
	}
	a.spans = []*span{m.newSpan(a, 0)}
	a.keeper.Tell = func(string) {
		for _, sp := range a.spans {
			sp.lost = true
		}
	}
	m.live, m.actors = append(m.live, a), append(m.actors, a)
	if len(m.live) > 1 {
		m.disturb()
	}
	m.note("begin %s", a.name)
	if rapid.Bool().Draw(m.rt, "calls") {
		a.keeper.PerCall = true
		m.nextCall(a)
	}
	return a
}

func (m *model) newSpan(a *actor, call int) *span {
	return &span{of: a, call: call, began: m.step, before: m.tree, paths: map[string]int{}, inodes: map[uint64]int{}, exposed: map[string]bool{}}
}

func (m *model) nextCall(a *actor) {
	last := a.spans[len(a.spans)-1]
	m.endSpan(last, last.call > 0)
	err := a.files.BeginCall(Call{Number: len(a.spans)})
	last.lost = last.lost || err != nil
	a.spans = append(a.spans, m.newSpan(a, len(a.spans)))
	if len(a.held) > 0 { // what it writes there belongs to an earlier call
		a.spans[len(a.spans)-1].weak = true
		last.weak = true
	}
	m.note("call %d of %s, on record: %v", len(a.spans)-1, a.name, err == nil)
}

func (m *model) endSpan(sp *span, ends bool) {
	if ends {
		sp.ended, sp.after = m.step, m.tree
		m.stack = append(m.stack, sp)
	}
}

// sessionStep begins a session or a call, or ends one.
func (m *model) sessionStep() {
	if len(m.live) == 0 {
		m.begin()
		return
	}
	a := m.live[m.pick("server", len(m.live))]
	if a.keeper.PerCall && rapid.Bool().Draw(m.rt, "next call") {
		if rapid.Bool().Draw(m.rt, "settled") {
			m.settle()
		}
		m.nextCall(a)
		return
	}
	m.end(a)
}

// end ends a session, or kills it.
func (m *model) end(a *actor) {
	for name, f := range a.held {
		f.Close()
		delete(a.held, name)
	}
	if killed := rapid.IntRange(0, 4).Draw(m.rt, "killed") == 0; killed {
		a.files.Journal.Close()
		a.files.Data.Close()
		m.lived(a.id)
		m.note("kill %s", a.name)
	} else {
		a.files.Finish()
		m.note("end %s", a.name)
	}
	a.writer.Close()
	m.disk.tick()
	m.live = slices.DeleteFunc(m.live, func(l *actor) bool { return l == a })
	for i, sp := range a.spans {
		m.endSpan(sp, sp.ended == 0 && (i > 0 || len(a.spans) == 1))
		if sp.ended == 0 {
			sp.ended, sp.after = m.step, m.tree
		}
	}
}

// lived gives the files of a session that was killed times by which what follows is no longer in
// the moment after its last sign of life.
func (w *world) lived(id string) {
	files, err := filepath.Glob(filepath.Join(w.store.Dir, id, "*"))
	w.check(err)
	tick()
	at := time.Now().Add(-heartbeat)
	for _, name := range files {
		w.check(os.Chtimes(name, at, at))
	}
	tick()
}

// undoStep undoes a session or a call.
func (m *model) undoStep() {
	var spans []*span
	for _, a := range m.actors {
		spans = append(spans, a.spans...)
	}
	if len(spans) == 0 {
		m.serverStep()
		return
	}
	if m.alone {
		for _, a := range slices.Clone(m.live) {
			m.end(a)
		}
	}
	m.settle()
	sp := spans[len(spans)-1]
	if n := len(m.stack); n > 0 && rapid.IntRange(0, 3).Draw(m.rt, "last") > 0 {
		if sp = m.stack[n-1]; rapid.Bool().Draw(m.rt, "whole session") {
			sp = sp.of.spans[0]
		}
	} else if rapid.IntRange(0, 2).Draw(m.rt, "any") > 0 {
		sp = spans[m.pick("session or call", len(spans))]
	}
	sel := Selection{Call: sp.call}
	if !m.alone {
		switch rapid.IntRange(0, 9).Draw(m.rt, "part") {
		case 0:
			sel.Paths = []string{m.at(m.path("part"))}
		case 1:
			// After another undo of the session it would ask for another version.
			sel.Others = !slices.ContainsFunc(m.actors, func(a *actor) bool { return a.undoes != nil && a.undoes.of == sp.of })
		}
	}
	if _, err := m.store.Session(sp.of.id); err != nil {
		return // it has changed nothing
	}
	for kills := rapid.IntRange(-3, 2).Draw(m.rt, "kills"); kills > 0 && !m.full && len(sel.Paths) == 0 && !sel.Others; kills-- {
		m.killed(sp, rapid.IntRange(1, 25).Draw(m.rt, "before"))
		if !m.alone && rapid.IntRange(0, 3).Draw(m.rt, "not again") == 0 {
			m.disturb()
			return
		}
	}
	m.undo(sp, sel)
}

// killed undoes a session, and kills the undo before its nth change.
func (m *model) killed(sp *span, n int) {
	was := m.tree
	time.Sleep(clockTick) // what changed a moment before an undo that was killed counts as the undo's
	if !killBefore(m.t, n, testkit.Self(runUndo, filepath.Join(m.store.Dir, sp.of.id), fmt.Sprint(sp.call))) {
		m.note("not killed before %d", n)
	}
	m.disk.tick()
	sessions, err := m.store.Sessions()
	m.check(err)
	u := &actor{name: m.newName("U"), undoes: sp}
	m.note("%s undoes %s call %d, killed before change %d", u.name, sp.of.name, sp.call, n)
	u.spans = []*span{m.newSpan(u, 0)}
	if len(sessions) > 0 && !m.known(sessions[0].ID) {
		u.id = sessions[0].ID
		m.lived(u.id)
		m.actors = append(m.actors, u)
	}
	m.became(u, true)
	m.judge(&undone{span: sp, from: was, to: m.tree, killed: true})
	m.endUndo(u, was)
	u.spans[0].weak = true
}

func (m *model) known(id string) bool {
	return slices.ContainsFunc(m.actors, func(a *actor) bool { return a.id == id })
}

// endUndo notes what an undo touched.
func (m *model) endUndo(u *actor, was workspace) {
	sp := u.spans[0]
	sp.ended, sp.after = m.step, m.tree
	for _, tree := range []workspace{was, m.tree} {
		for p := range tree {
			if was[p] != m.tree[p] {
				sp.paths[p] = m.step
			}
		}
	}
}

// afterUndo returns what is in effect after an undo that has to be complete, or false where it need
// not be.
func (m *model) afterUndo(sp *span, sel Selection) (rest []*span, complete bool) {
	if m.full || len(m.live) > 0 || sp.weak || sp.mixed || sp.lost || sp.began <= m.weak || sp.ended == 0 || len(sel.Paths) > 0 || sel.Others {
		return nil, false
	}
	if sp.of.undoes != nil {
		return sp.again, slices.Equal(m.stack, sp.left)
	}
	rest = m.stack
	for len(rest) > 0 && (rest[len(rest)-1] == sp || sp.call == 0 && rest[len(rest)-1].of == sp.of) {
		rest = rest[:len(rest)-1]
	}
	return slices.Clip(rest), len(rest) < len(m.stack)
}

func (m *model) undo(sp *span, sel Selection) {
	s, err := m.store.Session(sp.of.id)
	m.check(err)
	rest, complete := m.afterUndo(sp, sel)
	was := m.tree
	r, err := NewRestorer(s, sel)
	m.check(err)
	name := m.newName("U")
	m.note("%s undoes %s %+v, complete %v: %s", name, sp.of.name, sel, complete, m.stepsOf(r))
	out, id, err := r.Run(m.store)
	if err != nil { // the disk is full
		m.note("error %v", err)
		m.disturb()
	}
	text := strings.ReplaceAll(said(r, out), m.root+"/", "")
	for _, a := range m.actors {
		if a.id != "" {
			text = strings.ReplaceAll(text, a.id, a.name)
		}
	}
	m.note("it said: %s", text)
	u := &actor{name: name, id: id, undoes: sp}
	m.step++
	u.spans = []*span{m.newSpan(u, 0)}
	m.became(u, true)
	m.endUndo(u, was)
	done := undone{span: sp, from: was, to: m.tree, said: text}
	done.lost = len(sel.Paths) > 0 || sel.Others || len(s.Gaps) > 0 || err != nil
	m.judge(&done)
	m.disk.tick()
	want, got := sp.before.withoutTemps().String(), m.tree.withoutTemps().String()
	if complete && (text != "" || got != want) {
		m.note("%s", diffLines(want, got))
		m.fail(&done, "the undo is not complete")
	}
	if complete {
		u.spans[0].again, u.spans[0].left = m.stack, rest
		m.stack = rest
	} else {
		m.disturb()
	}
	u.spans[0].began, u.spans[0].weak = m.step, strings.Contains(text, tempPrefix)
	if id != "" {
		m.actors = append(m.actors, u)
	}
}

func (m *model) stepsOf(r *Restorer) string {
	var out []string
	for _, s := range r.Steps {
		rel, _ := filepath.Rel(m.root, s.Path)
		out = append(out, string(s.Action)+" "+rel)
	}
	return strings.Join(out, ", ")
}
