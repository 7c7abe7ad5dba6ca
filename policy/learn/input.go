package learn

import (
	"maps"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Input is what Learn concludes from.
type Input struct {
	Server    string
	Command   string // with Arguments, for the table; "" leaves both out
	Arguments []string
	Home      string // the user's home directory, canonical
	// Bare is the profile of the same server with an access table that grants nothing and an empty table
	// of commands. What it allows needs no rule: the baseline, the program with its interpreter and
	// package, the private HOME.
	Bare *policy.Profile
	// Learning is the profile in which the server was watched, or nil. A directory around one of its
	// sensitive entries is not granted for the sake of files in it.
	Learning     *policy.Profile
	Observations []policy.Observation
	Facts        Facts
	Stateless    Stateless
	Variables    Variables
	Hosts        []string // that the user has named: each is granted if the server reached it, also one that is never learned

	widths map[string]string // the answers of wide
}

// Facts answer what Learn asks of the host. Paths are canonical. All functions are required.
type Facts struct {
	Kind      func(path string) policy.Kind            // what is there; 0: nothing
	Sensitive func(path string) string                 // resolve.Sensitive
	Guarded   func(path string, write bool) string     // resolve.Guarded
	Program   func(name string) (canonicalFile string) // the file of a name in PATH; "" if there is none
	// Secrets returns the files in a directory, or below it, whose name is a SecretName. whole is false if it
	// has not looked at all of them.
	Secrets func(dir string) (files []string, whole bool)
}

// Stateless tells whether each call of the server can have a process of its own, and why.
type Stateless struct {
	Able bool
	Why  string
	// Observations are of processes that had one call each. A process that had several may have done for one
	// tool what another one's call shows, so its observations say nothing about a tool.
	Observations []policy.Observation
	Workspace    string // for the table; the process that lists the tools has it by the default policy
}

// Variables are names of environment variables.
type Variables struct {
	Granted   []string
	Preset    []string // of Granted, those that a preset grants; the user named the others
	Withheld  []string // set on the host, and not granted
	Mentioned []string // the program's own files read them: see Mentions
}

// A tally counts how often each tool did something. The tool "" is the start of the server.
type tally struct {
	tools map[string]int
	first time.Time
}

func (t *tally) add(tool string, count int, at time.Time) {
	if t.tools == nil {
		t.tools = map[string]int{}
	}
	t.tools[tool] += max(count, 1)
	if t.first.IsZero() || !at.IsZero() && at.Before(t.first) {
		t.first = at
	}
}

func (t *tally) join(other *tally) {
	for tool, n := range other.tools {
		t.add(tool, n, other.first)
	}
}

// before orders by the first time, then by name, so that what is capped does not depend on the order
// of the observations.
func (t *tally) before(other *tally) int { return t.first.Compare(other.first) }

func (t *tally) names() []string { return slices.Sorted(maps.Keys(t.tools)) }

func (t *tally) total() (n int) {
	for _, c := range t.tools {
		n += c
	}
	return n
}
