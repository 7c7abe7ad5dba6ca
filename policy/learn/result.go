package learn

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A Result is a learned policy, with what it leaves out.
type Result struct {
	Name      string // of the server
	From      string // whose rules these are, for the first comment; "" for those of a lesson
	Command   string
	Arguments []string
	Workspace string // of a server with tables for its tools; "" leaves it out
	Stateful  bool
	Why       string // why each call can, or cannot, have a process of its own
	// Tables are the access tables: one for a stateful server, else one for each tool that needs more
	// than the start, after that of config.AnyTool.
	Tables    []Table
	Unlearned []Unlearned
	Withheld  []string // variables that the program reads, that are set, and that it does not get

	home string
}

// A Table is one access table.
type Table struct {
	Tool  string // "" is the whole server
	Rules []Rule

	places  []place  // from which Rules has those about files
	dropped []string // IDs of rules that were left out
}

// Rules returns the rules of all tables, one of each ID. One about a path has the rights of all tables.
func (r *Result) Rules() (all []Rule) {
	at := map[string]int{}
	for _, t := range r.Tables {
		for _, rule := range t.Rules {
			i, seen := at[rule.ID]
			if !seen {
				at[rule.ID] = len(all)
				all = append(all, rule)
				continue
			}
			by := &tally{}
			by.join(&tally{all[i].Tools, all[i].First})
			for tool, n := range rule.Tools {
				if _, counted := by.tools[tool]; !counted { // the start is in each table
					by.add(tool, n, rule.First)
				}
			}
			all[i].Tools, all[i].First = by.tools, by.first
			if rule.Fs != nil {
				both, other := *all[i].Fs, *rule.Fs
				both.Read, both.Create, both.Update = both.Read || other.Read, both.Create || other.Create, both.Update || other.Update
				both.Delete, both.Execute = both.Delete || other.Delete, both.Execute || other.Execute
				all[i].Fs = &both
			}
		}
	}
	return all
}

// Without returns the result without the rules of some IDs, in each table. A directory that is left out leaves
// rules for what was used in it. The rest is as it was: what the rules allowed is not in Unlearned.
func (r *Result) Without(ids ...string) *Result {
	of := map[string][]string{}
	for _, t := range r.Tables {
		of[t.Tool] = ids
	}
	return r.WithoutOf(of)
}

// WithoutOf is Without, with the IDs to leave out of the table of each tool.
func (r *Result) WithoutOf(ids map[string][]string) *Result {
	out := *r
	out.Tables = slices.Clone(r.Tables)
	for i := range out.Tables {
		t := &out.Tables[i]
		t.dropped = slices.Concat(t.dropped, ids[t.Tool])
		others := slices.DeleteFunc(slices.Clone(t.Rules), func(rule Rule) bool { return rule.Fs != nil || slices.Contains(ids[t.Tool], rule.ID) })
		t.Rules = append(fsRules(t.places, t.dropped), others...)
	}
	return &out
}

// Server returns the table of the server as package config has it. It says what Result.TOML says.
func (r *Result) Server() *config.Server {
	s := &config.Server{Name: r.Name, Command: r.Command, Arguments: r.Arguments}
	if r.Stateful {
		s.Access = r.Tables[0].access()
		return s
	}
	stateful := false
	s.Stateful, s.Workspace, s.Tools = &stateful, r.Workspace, map[string]*config.Tool{}
	for _, t := range r.Tables {
		s.Tools[t.Tool] = &config.Tool{Name: t.Tool, Access: t.access()}
	}
	return s
}

// access returns the table of commands even if it is empty: then no program may be started.
func (t Table) access() *config.Access {
	a := &config.Access{Fs: []policy.FsRule{}, Commands: map[string][]policy.CommandRule{}, SensitivePaths: t.hidden()}
	for _, r := range t.Rules {
		switch {
		case r.Fs != nil:
			a.Fs = append(a.Fs, *r.Fs)
		case r.Net != nil:
			a.Net = append(a.Net, *r.Net)
		case r.Env != nil:
			a.Env = append(a.Env, *r.Env)
		case r.Command != nil:
			a.Commands[r.Command.Name] = append(a.Commands[r.Command.Name], *r.Command)
		}
	}
	return a
}

// fields returns what the rule says, as TOML assignments.
func (r Rule) fields() []string {
	switch {
	case r.Fs != nil:
		return r.Fs.TOMLFields()
	case r.Net != nil:
		return r.Net.TOMLFields()
	case r.Env != nil:
		return r.Env.TOMLFields()
	}
	return append([]string{r.Command.Name}, r.Command.TOMLFields()...)
}

// Text returns the rule as one inline table of TOML; for a program, with its name before it.
func (r Rule) Text() string {
	if r.Command != nil {
		return show.Key(r.Command.Name) + " = " + inline(r.Command.TOMLFields())
	}
	return inline(r.fields())
}

func inline(fields []string) string {
	if len(fields) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}

// Comment returns who used the rule, how often, and when first.
func (r Rule) Comment() string {
	by := &tally{r.Tools, r.First}
	text := by.text()
	if r.Note != "" {
		text = strings.TrimPrefix(text+"; "+r.Note, "; ")
	}
	return text
}

func toolName(tool string) string {
	if tool == "" {
		return "the start"
	}
	return name(tool)
}

// maxTools is how many tools a comment names.
const maxTools = 3

// text says which tools did it, how often, and when first.
func (t *tally) text() string {
	parts := []string{}
	for _, tool := range t.names() {
		if len(parts) == maxTools {
			parts = append(parts, count(len(t.tools)-maxTools, "more tool", "more tools"))
			break
		}
		often := " once"
		if n := t.tools[tool]; n > 1 {
			often = " " + strconv.Itoa(n) + " times"
		}
		parts = append(parts, toolName(tool)+often)
	}
	text := strings.Join(parts, ", ")
	if !t.first.IsZero() && text != "" {
		text += "; first at " + t.first.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return text
}
