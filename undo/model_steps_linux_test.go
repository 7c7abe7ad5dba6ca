package undo

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/origin"
	"github.com/mcp-jail/mcp-jail/undo/internal/steps"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func (m *model) steps() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){}
	for name, step := range map[string]func(){
		"server 1": m.serverStep, "server 2": m.serverStep, "server 3": m.serverStep, "server 4": m.serverStep, "earlier": m.earlierStep,
		"user": m.userStep, "between": m.betweenStep, "session": m.sessionStep, "undo 1": m.undoStep, "undo 2": m.undoStep, "disk": m.diskStep,
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

// inOrder compares paths. Temporary names depend on the clock, so what is there decides.
func (m *model) inOrder(a, b string) int {
	key := func(p string) string {
		above, temp, is := strings.Cut(p, steps.TempPrefix)
		if !is {
			return p
		}
		_, below, _ := strings.Cut(temp, "/")
		return above + steps.TempPrefix + below + m.tree[p].text
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

// earlierStep has a server write by a descriptor that it keeps from an earlier call.
func (m *model) earlierStep() {
	i := slices.IndexFunc(m.live, func(a *actor) bool { return a.keeper.PerCall })
	if i < 0 {
		m.serverStep()
		return
	}
	a := m.live[i]
	if len(a.held) == 0 {
		change{m, a}.do("hold", m.path("path"))
		m.became(a, false)
	}
	m.nextCall(a)
	change{m, a}.do("held", "")
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

// betweenStep has a user save a file that a server changes before, and moves after it.
func (m *model) betweenStep() {
	if m.alone || len(m.live) == 0 {
		m.userStep()
		return
	}
	a, name := m.live[m.pick("server", len(m.live))], m.path("path")
	for range 2 {
		change{m, a}.do(m.draw("first", "attributes", "write", "save", "rename", "remove"), name)
		m.became(a, false)
		m.settle()
		m.step++
		change{m, nil}.do(m.draw("between", "save", "save", "write", "rename"), name)
		m.became(nil, false)
		m.disk.tick()
		m.step++
	}
	change{m, a}.do(m.draw("last", "rename", "rename", "exchange", "link", "remove"), name)
	m.became(a, false)
	m.disturb()
	m.settle()
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
		for range 2 {
			if sweep := a.sweep; sweep != nil {
				a.sweep = nil
				sweep()
			}
		}
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
	a.keeper.After = func(_ time.Duration, sweep func()) { a.sweep = sweep } // for settle
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
	return &span{of: a, call: call, began: m.step, before: m.tree, paths: map[string]int{}, inodes: map[uint64]int{}, exposed: map[string]bool{}, touched: map[string]bool{}, opened: map[string]bool{}}
}

func (m *model) nextCall(a *actor) {
	last := a.spans[len(a.spans)-1]
	m.endSpan(last, last.call > 0)
	err := a.files.BeginCall(Call{Number: len(a.spans)})
	last.lost = last.lost || err != nil
	a.keeper.CallBegins()
	a.spans = append(a.spans, m.newSpan(a, len(a.spans)))
	for _, f := range a.held { // each call has them on record, by the names that the server has changed
		for _, p := range m.namesOf(f) {
			if slices.Contains(a.keeper.Pending(), m.at(p)) {
				m.touches(a, p)
			}
		}
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
	if len(m.live) == 0 || len(m.live) == 1 && !m.alone && rapid.Bool().Draw(m.rt, "second") {
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
	at := time.Now().Add(-origin.Heartbeat)
	for _, name := range files {
		w.check(os.Chtimes(name, at, at))
	}
	tick()
}
