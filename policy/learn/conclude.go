package learn

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A Rule is one rule of a learned policy. One of Fs, Net, Env and Command is set.
type Rule struct {
	ID      string // stays the same as long as the rule is about the same thing
	Axis    policy.Axis
	Fs      *policy.FsRule
	Net     *policy.NetRule
	Env     *policy.EnvRule
	Command *policy.CommandRule
	Note    string         // what the rule means beyond its words; "" for most
	Tools   map[string]int // how often each tool used it; "" is the start
	First   time.Time
}

func newRule(axis policy.Axis, what string, by *tally) Rule {
	return Rule{ID: string(axis) + ":" + what, Axis: axis, Tools: by.tools, First: by.first}
}

// The number of rules of one process, by kind. Together with their heads they are a page.
const (
	maxFs       = 20
	maxSingles  = 8 // files that are named one by one in a directory that is too wide
	maxHosts    = 12
	maxPrograms = 12
	maxEnv      = 12
	maxRules    = 60 // of all tables of a server
)

// several is how many files of a directory stand for the directory.
const several = 3

// A learner concludes the rules of one process.
type learner struct {
	*Input
	uses   map[key]*use
	starts map[string]*program
	hosts  map[link]*tally
	named  map[string]*tally // names that were looked up
	left   leftOut
	places []place
	rules  []Rule
}

// A use is one operation on one path.
type use struct {
	op     policy.Op
	path   string
	absent bool // each time
	tally
}

func (in *Input) conclude(all []policy.Observation) *learner {
	l := &learner{Input: in, uses: map[key]*use{}, starts: map[string]*program{}, hosts: map[link]*tally{}, named: map[string]*tally{}, left: leftOut{}}
	for _, o := range all {
		l.take(o)
	}
	l.addFiles()
	l.addHosts()
	l.addPrograms()
	l.addVariables()
	return l
}

func (l *learner) take(o policy.Observation) {
	k, by := keyOf(o), &tally{}
	by.add(o.Tool, o.Count, o.Time)
	switch op := operation(o); {
	case o.Target == policy.DenialOthers: // the jail itself has stopped to tell them apart
		l.left.add(k, Capped, "", by)
	case isSocket(o):
		l.left.add(k, Socket, "", by)
	case o.Axis == policy.AxisNet:
		l.takeNet(o, by)
	case op == policy.OpExec:
		l.takeStart(o, k, by)
	case op == 0:
		l.left.add(k, Other, "", by)
	case !isPath(k.target):
		l.left.add(k, Unwritable, "", by)
	default:
		u := l.uses[k]
		if u == nil {
			u = &use{op: op, path: k.target, absent: true}
			l.uses[k] = u
		}
		u.absent = u.absent && o.Absent
		u.join(by)
	}
}

func (l *learner) addVariables() {
	names := slices.Compact(slices.Sorted(slices.Values(l.Variables.Granted)))
	for i, n := range names {
		by := &tally{}
		switch {
		case policy.CheckVariable(n) != nil:
			l.left.add(key{policy.AxisEnv, "read", n}, Unwritable, "", by)
		case i >= maxEnv:
			l.left.add(key{policy.AxisEnv, "read", n}, Capped, "", by)
		default:
			r := newRule(policy.AxisEnv, n, by)
			r.Note = "you named it"
			if slices.Contains(l.Variables.Preset, n) {
				r.Note = "the preset names it"
			}
			r.Env = &policy.EnvRule{Name: n, Read: true}
			l.rules = append(l.rules, r)
		}
	}
}

// Learn concludes the smallest policy that allows what was observed, but for what is never granted: see
// the package. Equal observations in another order give an equal result.
func Learn(in Input) *Result {
	whole := in.conclude(in.Observations)
	r := &Result{
		Name: in.Server, Command: in.Command, Arguments: slices.Clone(in.Arguments), Stateful: true, Why: in.Stateless.Why,
		Tables: []Table{{Rules: whole.rules, places: whole.places}}, Unlearned: whole.left.list(), Withheld: in.withheld(), home: in.Home,
	}
	if in.Stateless.Able {
		in.perTool(r, whole.left)
	}
	return r
}

// withheld returns the variables that the program reads, that are set, and that the server does not
// get.
func (in *Input) withheld() (names []string) {
	for _, n := range in.Variables.Withheld {
		if slices.Contains(in.Variables.Mentioned, n) && !slices.Contains(in.Variables.Granted, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// perTool gives each tool a table with what the start and the tool need. The table of AnyTool is for
// the tools that need no more than the start. Where the tables would be too long, one process stays. whole is what
// one process has no rule for.
func (in *Input) perTool(r *Result, whole leftOut) {
	by := map[string][]policy.Observation{}
	for _, o := range in.Stateless.Observations {
		by[o.Tool] = append(by[o.Tool], o)
	}
	start, all := in.conclude(by[""]), leftOut{}
	all.join(start.left)
	tables, rules := []Table{{Tool: config.AnyTool, Rules: start.rules, places: start.places}}, len(start.rules)
	for _, tool := range slices.Sorted(maps.Keys(by)) {
		if tool == "" {
			continue
		}
		l := in.conclude(slices.Concat(by[""], by[tool]))
		all.join(l.left)
		if sameRules(l.rules, start.rules) {
			continue
		}
		if rules += len(l.rules); rules > maxRules || tool == config.AnyTool || !isToolName(tool) {
			r.Why = "each call could have its own process, but the tables of the tools cannot be written on a page"
			return
		}
		tables = append(tables, Table{Tool: tool, Rules: l.rules, places: l.places})
	}
	for k, u := range whole {
		if all[k] == nil {
			all[k] = u
		}
	}
	r.Stateful, r.Tables, r.Unlearned, r.Workspace = false, tables, all.list(), in.Stateless.Workspace
}

func isToolName(tool string) bool {
	return len(tool) <= 128 && utf8.ValidString(tool) && !strings.ContainsFunc(tool, show.IsHidden)
}

// sameRules reports whether two lists grant the same.
func sameRules(a, b []Rule) bool {
	return slices.EqualFunc(a, b, func(x, y Rule) bool { return x.ID == y.ID && slices.Equal(x.fields(), y.fields()) })
}
