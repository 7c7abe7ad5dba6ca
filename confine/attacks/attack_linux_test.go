package attacks

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// The attack suite: what a hostile server may try, tried. Each attack is made
// outside of a jail (the control: it has to succeed, or it shows nothing), in the
// jail as it is shipped, and behind each of the jail's walls alone. The walls that
// refuse it alone are those that the table in SECURITY.md names.

// An attack is one thing to try, in all the forms that it takes.
type attack struct {
	what string
	// forms are attempts, their words separated by spaces. Words in capitals stand
	// for what the stage has built (see stage.word).
	forms []string
	// allowed says why it may succeed; "" is for everything that must be refused.
	allowed string
	// since and bareSince, without namespaces, are the Landlock ABI from which on it must be
	// refused. Before, what leads out of the jail is a gap.
	since, bareSince int
	// walls are those that could refuse it; nil is the four that every server meets.
	walls []world
}

type attackGroup struct {
	title   string
	attacks []attack
}

func allAttacks() []attackGroup {
	return slices.Concat(fileAttacks(), processAttacks(), kernelAttacks(), networkAttacks())
}

// A world is where an attempt is made.
type world string

const (
	unjailed world = "unjailed" // the control
	jail     world = "jail"     // as it is shipped
	bareJail world = "bare"     // as it is shipped for hosts that forbid namespaces
	// The walls, each of them alone.
	wallNamespaces  world = "namespaces"
	wallPrivileges  world = "privileges"
	wallLandlock    world = "Landlock"
	wallSeccomp     world = "seccomp"
	wallMediation   world = "mediation" // on top of namespaces: see refusedBy
	wallDescriptors world = "descriptors"
	wallEnvironment world = "environment"
)

// everyWall in the order in which the table names them.
var everyWall = []world{wallNamespaces, wallPrivileges, wallLandlock, wallSeccomp}

// wallSteps are the steps of the shim that make up a wall.
var wallSteps = map[world][]string{
	wallNamespaces: {
		step.Namespaces, "parent", "loopback", "private mounts", "own filesystems", "order", "mounts", "carve-outs", "open files", "init", step.SupervisorProc, "server", "descriptors", "umask", "directory", "capabilities", step.SupervisorCapabilities, "no_new_privs",
	},
	wallMediation: {
		step.Namespaces, "parent", "loopback", "private mounts", "own filesystems", "order", "mounts", "carve-outs", "landlock rules", "open files", "init", step.SupervisorProc, "server", "descriptors", "umask", "directory", "capabilities", step.SupervisorCapabilities, "no_new_privs", "landlock", "seccomp", step.Supervision,
	},
	wallPrivileges:  {"capabilities", "no_new_privs"},
	wallLandlock:    {"landlock rules", "no_new_privs", "landlock"},
	wallSeccomp:     {"no_new_privs", "seccomp"},
	wallDescriptors: {}, // see runBehind
}

// A finding is what came of one form of an attack, as one user.
type finding struct {
	Group, Attack, Form string
	In                  map[world]attacker.Outcome
}

// possible tells whether the form shows anything on this host.
func (f *finding) possible() bool { return !attacker.Holds(f.In[unjailed]) }

// gated tells whether the form is one by another gate of the machine.
func (f *finding) gated() bool {
	return strings.HasPrefix(f.Form, "i386-") || strings.HasPrefix(f.Form, "x32-")
}

// runAttacks makes every attack and returns what was found. The walls one by one
// are left out where another user's run, known, has tried them.
func runAttacks(t *testing.T, known []finding) []*finding {
	s := newSuite(t)
	for _, f := range known {
		if f.possible() {
			s.known[f.Form] = true
		}
	}
	var all []*finding
	t.Run("all", func(t *testing.T) {
		for _, g := range allAttacks() {
			for _, a := range g.attacks {
				var together []*finding
				forms := a.forms
				if !testkit.All() {
					forms = forms[:1]
				}
				for _, form := range forms {
					gates := attacker.Gates(form)
					if !testkit.All() {
						gates = gates[:1]
					}
					for _, gated := range gates {
						f := &finding{Group: g.title, Attack: a.what, Form: gated, In: map[world]attacker.Outcome{}}
						all = append(all, f)
						if f.gated() && !touches(gated) {
							together = append(together, f)
							continue
						}
						s.start(t, a, f)
					}
				}
				if together != nil {
					s.start(t, a, together...)
				}
			}
		}
	})
	return all
}

// looks are the verbs that find out whether something is there. Without namespaces
// that is a gap, which the plan names and the user has to waive.
var looks = []string{
	"stat", "statx", "access", "opath", "readlink", "statfs", "chdir", "watch", "exists-pid", "session-of", "pidfd-open",
}

// allows tells whether an attack may succeed on this kernel.
func (s *suite) allows(a attack, since int) bool { return a.allowed != "" || s.abi < since }

// start makes forms of an attack in every world; several at a time only where they
// leave nothing behind.
func (s *suite) start(t *testing.T, a attack, fs ...*finding) {
	t.Run(a.what+"/"+fs[0].Form, func(t *testing.T) {
		t.Parallel()
		s.in(t, unjailed, fs)
		s.in(t, jail, fs)
		for _, f := range fs {
			if !attacker.Holds(f.In[jail]) && !s.allows(a, a.since) {
				t.Errorf("OPEN as user %d: %s", os.Getuid(), f.Form)
			}
		}
		f := fs[0]
		if !f.gated() && !f.possible() {
			return
		}
		s.in(t, bareJail, fs)
		for _, f := range fs {
			if verb, _, _ := strings.Cut(f.Form, " "); !attacker.Holds(f.In[bareJail]) && !s.allows(a, max(a.since, a.bareSince)) && !slices.Contains(looks, verb) {
				t.Errorf("OPEN without namespaces as user %d: %s", os.Getuid(), f.Form)
			}
		}
		if f.gated() || s.known[f.Form] || !testkit.All() {
			return // what holds which call depends on the gate for seccomp alone
		}
		ws := a.walls
		if ws == nil {
			ws = everyWall
		}
		for _, w := range ws {
			s.in(t, w, fs)
		}
		if a.walls == nil && attacker.Holds(f.In[jail]) && !attacker.Holds(f.In[wallNamespaces]) && touches(f.Form) {
			s.in(t, wallMediation, fs)
		}
	})
}

// in makes attempts in one world, on a stage of their own where they touch it.
func (s *suite) in(t *testing.T, w world, fs []*finding) {
	st, form := s.still, fs[0].Form
	alone := touches(form)
	if alone {
		st = newStage(t, s)
		st.sockets(t, form)
	}
	var tries []attacker.Attempt
	for _, f := range fs {
		tries = append(tries, st.attempt(w, f.Form))
	}
	var before string
	if alone && w == jail {
		before = st.untouchable(t)
	}
	for i, got := range st.make(t, w, tries) {
		switch {
		case strings.HasPrefix(got, "no verb"):
			t.Error(got)
		case !attacker.Holds(got):
			got = attacker.Succeeded // answers are for reading in a log; that there is one is what counts
		case strings.HasPrefix(got, "error: "):
			t.Logf("%s in %s: %s", fs[i].Form, w, got)
			got = "refused"
		}
		fs[i].In[w] = got
	}
	if alone && w == jail && attacker.Holds(fs[0].In[w]) {
		if after := st.untouchable(t); after != before {
			t.Errorf("%s: %s, and all the same something has changed:\n%s\nwas\n%s", form, fs[0].In[w], after, before)
		}
	}
}

// fields splits a form, and puts the stage's things in the place of the words.
func (st *stage) attempt(w world, form string) attacker.Attempt {
	a := attacker.Attempt(strings.Fields(form))
	for i, f := range a[1:] {
		for _, word := range st.suite.sorted() {
			f = strings.ReplaceAll(f, word, st.suite.words[word])
		}
		for _, word := range stageWords {
			f = strings.ReplaceAll(f, word, st.word(w, word))
		}
		a[i+1] = f
	}
	return a
}

// sorted has longer words first, so that none is taken for a part of another.
func (s *suite) sorted() []string {
	var out []string
	for w := range s.words {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return out
}
