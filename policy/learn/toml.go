package learn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// TOML writes the table of the server, a rule a line with its comment. What is not granted comes before
// it, as comments.
func (r *Result) TOML() []byte {
	var w writer
	if r.From == "" {
		w.line("# Learned by mcp-jail: it %s.", r.Verdict())
	} else {
		w.line("# From %s: it %s.", r.From, r.Verdict())
	}
	if r.Why != "" {
		if r.Stateful {
			w.line("# One process serves all calls: %s.", sentence(r.Why))
		} else {
			w.line("# Each call gets a process of its own: %s.", sentence(r.Why))
			w.line(`# A tool without a table has that of "*": what each process needs to start.`)
			w.line("# The process that lists the tools has the default policy: the workspace, and no host.")
		}
	}
	r.writeLeft(&w)
	table := "servers." + show.Key(r.Name)
	w.line("[%s]", table)
	if r.Command != "" {
		w.line("command = %s", show.TOML(r.Command))
	}
	if r.Arguments != nil {
		w.line("arguments = %s", show.List(r.Arguments))
	}
	if !r.Stateful {
		if r.Workspace != "" {
			w.line("workspace = %s", show.TOML(r.Workspace))
		}
		w.line("stateful = false")
	}
	for _, t := range r.Tables {
		header := table + ".access"
		if t.Tool != "" {
			header = table + ".tools." + show.Key(t.Tool) + ".access"
		}
		t.write(&w, header)
	}
	return []byte(w.String())
}

type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *writer) comment(text string) string {
	if text != "" {
		text = " # " + text
	}
	return text
}

func (t Table) write(w *writer, header string) {
	w.line("\n[%s]", header)
	axes := []struct {
		key string
		is  func(Rule) bool
	}{
		{"fs", func(r Rule) bool { return r.Fs != nil }},
		{"net", func(r Rule) bool { return r.Net != nil }},
		{"env", func(r Rule) bool { return r.Env != nil }},
	}
	for _, axis := range axes {
		rules := slices.DeleteFunc(slices.Clone(t.Rules), func(r Rule) bool { return !axis.is(r) })
		if len(rules) == 0 {
			if axis.key == "fs" {
				w.line("fs = []")
			}
			continue
		}
		w.line("%s = [", axis.key)
		for _, r := range rules {
			w.line("  %s,%s", r.Text(), w.comment(r.Comment()))
		}
		w.line("]")
	}
	if hidden := t.hidden(); hidden != nil {
		w.line("sensitive_paths = %s # keys and passwords beside what is granted", show.List(hidden))
	}
	w.line("\n[%s.commands]", header)
	none := true
	for _, r := range t.Rules {
		if r.Command != nil {
			none = false
			w.line("%s%s", r.Text(), w.comment(r.Comment()))
		}
	}
	if none {
		w.line("# the server starts no other program")
	}
}

// The reasons in the order in which a reader wants them, with what they say of the names.
var leftTexts = []struct {
	reason Reason
	text   string
}{
	{Protected, "Not granted, because the host runs or trusts it, or it is mcp-jail's own"},
	{Socket, "Not granted, sockets of other programs, devices and pipes"},
	{Address, "Not granted, addresses and names of this machine and its network"},
	{Registry, "Not granted, hosts of packages, which `mcp-jail install` installs ahead"},
	{Wide, "Not granted, because the rule would grant more than these"},
	{Home, "Without a rule, because the server has its own in its private HOME"},
	{System, "Without a rule, because the jail has its own, or it is the system's"},
	{Absent, "Looked for and not there"},
	{Unused, "Looked up, and nothing was sent there"},
	{Unwritable, "No rule can name these"},
	{Capped, "Left out, because the policy would be longer than a page"},
	{Other, "Seen, and of a kind that has no rules"},
}

// The bounds of the comments.
const (
	maxLeft      = 6 // sensitive paths and hosts of telemetry, a line each
	maxLeftNames = 4 // other names of one line
)

func (r *Result) writeLeft(w *writer) {
	by := map[Reason][]Unlearned{}
	for _, u := range r.Unlearned {
		by[u.Reason] = append(by[u.Reason], u)
	}
	targets := func(all []Unlearned) (names []string) {
		for _, u := range all {
			if n := r.short(u.Target); !slices.Contains(names, n) && len(names) <= maxLeftNames {
				names = append(names, n)
			}
		}
		return names
	}
	r.writeSensitive(w, by[Sensitive])
	r.writeTelemetry(w, by[Telemetry])
	for _, t := range leftTexts {
		all := by[t.reason]
		if len(all) == 0 {
			continue
		}
		names := targets(all)
		more := distinctTargets(all) - min(len(names), maxLeftNames)
		text := list(names[:min(len(names), maxLeftNames)], maxLeftNames)
		if more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		w.line("# %s: %s.", t.text, text)
	}
	if len(r.Withheld) > 0 {
		w.line("# Its files read these variables, which are set and not granted: %s.", list(r.Withheld, 2*maxLeftNames))
	}
}

func distinctTargets(all []Unlearned) int {
	seen := map[string]bool{}
	for _, u := range all {
		seen[u.Target] = true
	}
	return len(seen)
}

// writeSensitive says which tool wanted a sensitive path, and how the user grants it by hand.
func (r *Result) writeSensitive(w *writer, all []Unlearned) {
	places, paths := map[string]*tally{}, map[string]string{}
	order := []string{}
	for _, u := range all {
		if places[u.Why] == nil {
			places[u.Why] = &tally{}
			order = append(order, u.Why)
			paths[u.Why] = "PATH"
			if p := r.short(u.Target); show.IsPlain(p) && name(p) == p {
				paths[u.Why] = p
			}
		}
		for _, tool := range u.Tools {
			places[u.Why].add(tool, u.Count, u.First)
		}
	}
	for i, place := range order {
		if i == maxLeft {
			w.line("# Not granted: %s.", count(len(order)-maxLeft, "more sensitive path", "more sensitive paths"))
			return
		}
		w.line("# Not granted, sensitive: %s, wanted by %s. By hand: mcp-jail grant %s --read %s", name(place), wanted(places[place]), name(r.Name), paths[place])
	}
}

func wanted(t *tally) string {
	names := t.names()
	for i, n := range names {
		names[i] = toolName(n)
	}
	return some(names)
}

// writeTelemetry writes the rules that the user can put in force.
func (r *Result) writeTelemetry(w *writer, all []Unlearned) {
	shown := []string{}
	for _, u := range all {
		host, _, _ := splitTarget(u.Target)
		if host == "" {
			host = u.Target
		}
		if slices.Contains(shown, host) {
			continue
		}
		if shown = append(shown, host); len(shown) == 1 {
			w.line("# Not granted, hosts that count users and faults:")
		}
		if len(shown) > maxLeft {
			w.line("#   and more")
			return
		}
		w.line("#   { host = %s, allow = true }, # %s", show.TOML(host), name(u.Why))
	}
}

func (r *Result) short(p string) string {
	in := Input{Home: r.home}
	return in.short(p)
}
