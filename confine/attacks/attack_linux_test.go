package attacks

import (
	_ "embed"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// An attack is one thing that a hostile server may try, in all its forms.
type attack struct {
	what string
	// forms are attempts, their words separated by spaces. Words in capitals stand for
	// objects of the stage (see stage.word).
	forms []string
	// allowed is the reason why the attack may succeed. If it is "", the jail must refuse it.
	allowed string
	// since is the first Landlock ABI with which the jail must refuse the attack; with an
	// older one it is a gap. hostNSSince is the same for a jail without namespaces.
	since, hostNSSince int
	// walls are the walls that could refuse it. nil stands for everyWall.
	walls []world
}

type attackGroup struct {
	title   string
	attacks []attack
}

//go:embed testdata/attacks.txt
var attacksText string // embedded, since an ordinary user may not be able to read the file

// allAttacks returns the attacks of testdata/attacks.txt, whose head describes its lines.
var allAttacks = sync.OnceValue(func() (groups []attackGroup) {
	var a *attack
	for line := range strings.Lines(attacksText) {
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(strings.TrimPrefix(line, "  "), ":")
		value = strings.TrimSpace(value)
		switch {
		case line == "" || strings.HasPrefix(line, "//"):
		case strings.HasPrefix(line, "# "):
			groups = append(groups, attackGroup{title: line[2:]})
		case line[0] == '\t':
			a.forms = append(a.forms, line[1:])
		case line[0] != ' ':
			g := &groups[len(groups)-1]
			g.attacks = append(g.attacks, attack{what: line})
			a = &g.attacks[len(g.attacks)-1]
		case key == "allowed":
			a.allowed = value
		case key == "since":
			a.since = attacker.Number(value)
		case key == "hostns":
			a.hostNSSince = attacker.Number(value)
		case key == "walls":
			a.walls = []world{}
			for _, w := range strings.Fields(value) {
				a.walls = append(a.walls, world(w))
			}
		default:
			panic("attacks.txt: " + line)
		}
	}
	return groups
})

// A world is where an attempt is made.
type world string

const (
	unjailed   world = "unjailed" // the control
	jail       world = "jail"     // as it is shipped
	hostNSJail world = "hostns"   // as it is shipped for hosts that forbid namespaces
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

// wallSteps are the steps of a start that make up a wall.
var wallSteps = map[world][]string{
	wallNamespaces: {
		sys.Namespaces, "parent", "loopback", "private mounts", "own filesystems", sys.Spec, "mounts", "carve-outs", "open files", "init", sys.SupervisorProc, "server", "descriptors", "umask", "directory", "capabilities", sys.SupervisorCapabilities, "no_new_privs",
	},
	wallMediation: {
		sys.Namespaces, "parent", "loopback", "private mounts", "own filesystems", sys.Spec, "mounts", "carve-outs", "landlock rules", "open files", "init", sys.SupervisorProc, "server", "descriptors", "umask", "directory", "capabilities", sys.SupervisorCapabilities, "no_new_privs", "landlock", "seccomp", sys.Supervision,
	},
	wallPrivileges:  {"capabilities", "no_new_privs"},
	wallLandlock:    {"landlock rules", "no_new_privs", "landlock"},
	wallSeccomp:     {"no_new_privs", "seccomp"},
	wallDescriptors: {}, // see runBehind
}

// A finding holds the outcomes of one form of an attack by one user.
type finding struct {
	Group, Attack, Form string
	In                  map[world]attacker.Outcome
}

// possible reports whether the form succeeds outside a jail. If not, its other outcomes show
// nothing.
func (f *finding) possible() bool { return !attacker.Holds(f.In[unjailed]) }

// gated reports whether the form makes its system call by the i386 or the x32 ABI.
func (f *finding) gated() bool {
	return strings.HasPrefix(f.Form, "i386-") || strings.HasPrefix(f.Form, "x32-")
}

// runAttacks makes every attack and returns the findings. It leaves out single walls for the
// forms that known, the findings of another user, has them for.
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
				if !testkit.Long() {
					forms = forms[:1]
				}
				for _, form := range forms {
					abis := attacker.ABIs(form)
					if !testkit.Long() {
						abis = abis[:1]
					}
					for _, gated := range abis {
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

// looks are the verbs that find out whether something exists. Without namespaces that is a gap,
// which the plan names and the user must waive.
var looks = []string{
	"stat", "statx", "access", "opath", "readlink", "statfs", "chdir", "watch", "exists-pid", "session-of", "pidfd-open",
}

// allows reports whether an attack may succeed on this kernel.
func (s *suite) allows(a attack, since int) bool { return a.allowed != "" || s.abi < since }

// start makes forms of an attack in every world. It gets several forms only if they change
// nothing.
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
		s.in(t, hostNSJail, fs)
		for _, f := range fs {
			if verb, _, _ := strings.Cut(f.Form, " "); !attacker.Holds(f.In[hostNSJail]) && !s.allows(a, max(a.since, a.hostNSSince)) && !slices.Contains(looks, verb) {
				t.Errorf("OPEN without namespaces as user %d: %s", os.Getuid(), f.Form)
			}
		}
		if f.gated() || s.known[f.Form] || !testkit.Long() {
			return // of the walls, the ABI matters to seccomp alone
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

// in makes attempts in one world, on a stage of their own if they touch it.
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
			got = attacker.Succeeded // without its answer
		case strings.HasPrefix(got, "error: "):
			t.Logf("%s in %s: %s", fs[i].Form, w, got)
			got = "refused"
		}
		fs[i].In[w] = got
	}
	if alone && w == jail && attacker.Holds(fs[0].In[w]) {
		if after := st.untouchable(t); after != before {
			t.Errorf("%s: the outcome is %s, but the stage has changed to\n%s\nfrom\n%s", form, fs[0].In[w], after, before)
		}
	}
}

// attempt splits a form and replaces its words in capitals by the objects of the stage.
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

// sorted returns the words with the longer ones first, so that a word which is part of another
// is replaced last.
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
