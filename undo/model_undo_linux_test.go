package undo

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo/internal/origin"
	"github.com/mcp-jail/mcp-jail/undo/internal/steps"
)

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
		if rapid.IntRange(0, 9).Draw(m.rt, "part") == 0 {
			sel.Paths = []string{m.at(m.path("part"))}
		}
	}
	if _, err := m.store.Session(sp.of.id); err != nil {
		return // it has changed nothing
	}
	for kills := rapid.IntRange(-3, 2).Draw(m.rt, "kills"); kills > 0 && !m.full && len(sel.Paths) == 0; kills-- {
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
	time.Sleep(origin.ClockTick) // what changed a moment before an undo that was killed counts as the undo's
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
	for p, o := range m.tree {
		if old, stood := was[p]; stood && old.inode != o.inode && o.kind == File {
			m.standsFor(o.inode, old.inode)
		}
	}
}

// standsFor says that an undo has made an object in the place of another one. Who has touched that one
// may touch this one.
func (m *model) standsFor(made, other uint64) {
	for _, a := range m.actors {
		for _, sp := range a.spans {
			if at, ok := sp.inodes[other]; ok {
				if _, known := sp.inodes[made]; !known {
					sp.inodes[made] = at
				}
			}
		}
	}
}

// afterUndo returns what is in effect after an undo that must be complete, or false where it need
// not be.
func (m *model) afterUndo(sp *span, sel Selection) (rest []*span, complete bool) {
	if m.full || len(m.live) > 0 || sp.weak || sp.mixed || sp.lost || sp.began <= m.weak || sp.ended == 0 || len(sel.Paths) > 0 {
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
	done.lost = len(sel.Paths) > 0 || len(s.Gaps) > 0 || err != nil
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
	u.spans[0].began, u.spans[0].weak = m.step, strings.Contains(text, steps.TempPrefix)
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
