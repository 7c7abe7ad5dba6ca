package learned

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/presets"
)

func quoted(text string) string { return show.TOML(text) }

func number(n int) string { return strconv.Itoa(n) }

const maxTitle = 200 // bytes

// maxNames is how many names of one kind a line has. A server can have any number of tools.
const maxNames = 20

// maxReadOnly is how long the list of the tools that only read can be. A server names them.
const maxReadOnly = 4 << 10

func listed(names []string) string {
	var out []string
	for _, n := range names[:min(maxNames, len(names))] {
		out = append(out, show.Name(n))
	}
	if more := len(names) - maxNames; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *writer) table(header string, fields []string) {
	w.line("\n[[%s]]", header)
	for _, f := range fields {
		w.line("%s", f)
	}
}

func (m *maker) text() []byte {
	var body writer
	m.facts(&body)
	m.access(&body)
	var w writer
	m.head(&w) // it says what is wider, which the others have found
	w.WriteString(body.String())
	return []byte(w.String())
}

// head says what the file is, and what is not verified.
func (m *maker) head(w *writer) {
	w.line("# A preset that mcp-jail learn wrote from what the server did. Nobody has reviewed it: read it first.")
	w.line("# To use it:  mcp-jail preset --apply %s.toml SERVER", show.Name(m.Name))
	if m.Doubt != "" {
		w.line("# NOT VERIFIED: %s.", show.Line(m.Doubt))
	} else if !m.Result.Stateful {
		w.line("# Verified on the machine of the lesson: the answers to %d requests were the same, with a table for each tool.", m.Requests)
		w.line("# Wider than that: a preset has one policy, so each tool has here what any of them needs, in one process.")
		w.line("# For tables, have mcp-jail learn watch the server on your machine.")
	} else {
		w.line("# Verified on the machine of the lesson: under the learned policy, the answers to %d requests were the same.", m.Requests)
	}
	if len(m.wider) > 0 {
		w.line("# Wider than what was verified: %s stands for all that is in it, and the lesson used some of it.", strings.Join(m.wider, ", "))
	}
	if names := slices.DeleteFunc(slices.Clone(m.NotCalled), m.isPrivate); len(names) > 0 {
		w.line("# Not called, so what they need is not known: %s.", listed(names))
	}
	w.line("# Not known: what other arguments, versions and systems need.")
	if len(m.left) > 0 {
		w.line("# Left out, because they name places of the machine of the lesson: %d of its rules.", len(m.left))
	}
}

// facts writes the first part of the file.
func (m *maker) facts(w *writer) {
	title := m.Title
	if title == "" || len(title) > maxTitle || m.isPrivate(title) {
		title = m.Package.Name
	}
	w.line("[preset]")
	w.line("title = %s", quoted(title))
	why := "the lesson had one process for all calls"
	if !m.Result.Stateful {
		why = "in the lesson, each call had a process of its own"
	}
	w.line("stateful = %t # %s", m.Result.Stateful, why)
	names := slices.Compact(slices.Sorted(slices.Values(m.ReadOnly)))
	names = slices.DeleteFunc(names, m.isPrivate)
	if len(names) > 0 && len(show.List(names)) <= maxReadOnly {
		w.line("read_only = %s # as they say of themselves", show.List(names))
	}
	var programs []string
	for _, p := range m.programs {
		programs = append(programs, p.Name)
	}
	if len(programs) > 0 {
		w.line("programs = %s", show.List(programs))
	}
	what := m.Package.Name
	if len(m.Package.Versions) > 0 {
		what += " " + m.Package.Versions[0]
	}
	w.line("sources = [%s]", quoted(what+", watched by mcp-jail learn on "+m.Day))
	fields := []string{string(m.Package.Ecosystem) + " = " + quoted(m.Package.Name)}
	if len(m.Package.Versions) > 0 {
		fields = append(fields, "versions = "+show.List(m.Package.Versions))
	}
	w.table("preset.packages", fields)
	for _, name := range m.variables() {
		fields := []string{"name = " + quoted(name)}
		if slices.Contains(m.names, name) {
			fields = append(fields, "required = true")
		}
		if s := m.used(m.Values[name], name); s != nil {
			fields = append(fields, m.value(s, name)...)
		}
		w.table("preset.variables", fields)
	}
	for _, p := range m.arguments() {
		_, label, _ := strings.Cut(p.fields[0], " = ")
		if strings.HasPrefix(p.fields[0], "flag") {
			label = strings.Trim(label, `"`)
		} else if label = "argument " + label; p.fields[0] == "rest = true" {
			label = "each argument"
		}
		w.table("preset.arguments", append(p.fields, m.value(p.slot, label)...))
	}
}

// variables returns the names of the variables that the server gets, and of those that name a place.
func (m *maker) variables() []string {
	names := slices.Clone(m.names)
	for name, value := range m.Values {
		if m.used(value, name) != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// access writes the second part: the table of the server.
func (m *maker) access(w *writer) {
	server := "servers." + show.Key(m.Name)
	w.line("\n[%s]", server)
	if len(m.names) > 0 {
		w.line("variables = %s", show.List(slices.Sorted(slices.Values(m.names))))
	}
	if len(m.files) == 0 {
		w.line("\n[%s.access]\nfs = []", server)
	}
	for _, r := range m.files {
		w.table(server+".access.fs", r.TOMLFields())
	}
	for _, r := range m.hosts {
		w.table(server+".access.net", r.TOMLFields())
	}
	w.line("\n[%s.access.commands]", server)
	if len(m.programs) == 0 {
		w.line("# the server starts no other program")
	}
	for _, r := range m.programs {
		fields := strings.Join(r.TOMLFields(), ", ")
		w.line("%s = { %s }", show.Key(r.Name), fields)
	}
}

// CheckName returns why a name cannot be that of a preset, or "".
func CheckName(name string) string {
	if show.Key(name) != name || len(name) > 60 {
		return "letters, digits, - and _ alone make the name of a preset"
	}
	if slices.Contains(presets.Names(), name) {
		return "mcp-jail has a preset of that name"
	}
	return ""
}
