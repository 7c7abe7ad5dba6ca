package undo

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
	checks := testkit.Rounds(10, 190) // four faults put in on purpose are found in the first 6; in the end more than 10,000 steps
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]any{"rapid.steps": steps, "rapid.checks": checks, "rapid.seed": 10, "rapid.nofailfile": true} {
		if f := flag.Lookup(name); !given[name] {
			f.Value.Set(fmt.Sprint(value))
			defer f.Value.Set(f.DefValue)
		}
	}
	least := checks
	if given["rapid.steps"] || given["rapid.checks"] || given["rapid.seed"] { // few checks can be of undos of which not all is judged
		least = flag.Lookup("rapid.checks").Value.(flag.Getter).Get().(int) / 10
	}
	disk := newSmallDisk(t)
	taken, judged := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt, t, disk)
		defer m.close()
		rt.Repeat(m.steps())
		taken += m.step
		judged += m.judged
	})
	if t.Logf("%d steps, %d undos judged in full", taken, judged); judged < least {
		t.Errorf("only %d undos were judged in full, and not %d", judged, least)
	}
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
	exposed       map[string]bool // paths of the user's that it touched once more, and texts that count as its own
	touched       map[string]bool // texts of the user's that it touched once more
	opened        map[string]bool // texts that it could write, or replaced
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
	sweep  func()              // that the keeper wants to be called; nil: none
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
	put     map[string][]string // where they put it
	maker   map[string]*actor   // who gave a path its name last; nil: the user
	named   map[string]int      // when
	stack   []*span             // what is in effect, in the order in which it began
	weak    int                 // what began until then need not be undone completely
	judged  int                 // undos of what touched a path, of which everything was judged
	history []string
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
			m.put[o.text] = append(slices.DeleteFunc(m.put[o.text], func(p string) bool { return now[p].text != o.text }), p)
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
		for _, full := range a.keeper.Pending() {
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
func (m *model) touches(a *actor, paths ...string) { m.touch(a, true, paths...) }

// touch says that a server is about to touch objects. Not by their paths, if it has them open.
func (m *model) touch(a *actor, byPath bool, paths ...string) {
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
				sp.touched[o.text] = true
			}
			if !known && byPath {
				sp.paths[p] = m.step
			}
			if _, ok := sp.inodes[o.inode]; stands && !ok {
				sp.inodes[o.inode] = m.step
			}
		}
	}
}

// opens says that a server opens a file for writing, or takes a name from it.
func (m *model) opens(a *actor, name string) {
	for _, sp := range a.spans {
		if sp.ended == 0 {
			sp.opened[m.tree[name].text] = true
		}
	}
}

func newModel(rt *rapid.T, t *testing.T, disk *smallDisk) *model {
	testkit.Must(t, disk.mount())
	dir, err := filepath.EvalSymlinks(disk.dir)
	testkit.Must(t, err)
	dir = filepath.Join(dir, "model")
	testkit.Must(t, os.Mkdir(dir, 0o700))
	m := &model{
		world: &world{t: modelTB{t, rt}, root: filepath.Join(dir, "work"), store: Store{Dir: filepath.Join(dir, "store")}},
		rt:    rt, disk: disk, users: map[string]bool{}, been: map[string][]string{}, copied: map[string]bool{}, placed: map[string]int{}, put: map[string][]string{}, maker: map[string]*actor{}, named: map[string]int{},
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
