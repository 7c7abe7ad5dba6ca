package presets

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A Jail is what a server gets because it runs in a jail. An entry that has one of the flags or
// variables in Unless gets nothing of it.
type jail struct {
	Variables map[string]string `toml:"variables"` // unless the entry sets them
	Arguments []string          `toml:"arguments"` // after those of the entry, unless it has the flag or its --no- form
	Unless    []string          `toml:"unless"`
	Program   elsewhere         `toml:"program"`
}

// elsewhere is a program that the server starts, and that a host may have in another place than the
// server looks in.
type elsewhere struct {
	Own    []string `toml:"own"`    // where the server finds it by itself
	Also   []string `toml:"also"`   // other places, the best first; each can be a pattern
	Given  string   `toml:"given"`  // the variable or flag that names it to the server
	Unless []string `toml:"unless"` // flags and variables of an entry that name the program
}

// each grants the directories that patterns match, each by itself: what is around them stays the
// server's own where HOME is private, and its other directories stay the user's.
type each struct {
	Paths []string `toml:"paths"`
	Value
}

func (e Entry) glob(pattern string) []string {
	if e.Glob == nil {
		return nil
	}
	return e.Glob(pattern)
}

// names reports whether an entry sets one of some variables, or has one of some flags.
func (e Entry) names(labels []string) bool {
	return slices.ContainsFunc(labels, func(label string) bool { return e.Env[label] != "" || e.hasFlag(label) })
}

func (e Entry) hasFlag(flag string) bool {
	off := "--no-" + strings.TrimPrefix(flag, "--")
	return slices.ContainsFunc(e.Args, func(word string) bool {
		word, _, _ = strings.Cut(word, "=")
		return word == flag || word == off
	})
}

// inJail returns the variables and arguments that the server gets besides those of an entry.
func (p *Preset) inJail(e Entry) (env map[string]string, args []string) {
	env = map[string]string{}
	if e.names(p.Jail.Unless) {
		return env, nil
	}
	for name, value := range p.Jail.Variables {
		if e.Env[name] == "" {
			env[name] = value
		}
	}
	for _, word := range p.Jail.Arguments {
		if flag, _, _ := strings.Cut(word, "="); !e.hasFlag(flag) {
			args = append(args, word)
		}
	}
	return env, args
}

// program tells the server where the program is, and grants it.
func (m *maker) program() {
	program := m.preset.Jail.Program
	found := program.find(m.entry)
	if found == "" || m.entry.names(m.preset.Jail.Unless) {
		return
	}
	if !slices.ContainsFunc(m.access().Fs, func(r policy.FsRule) bool { return r.Read && r.Execute && policy.Within(found, r.Path) }) {
		r := m.preset.valueOf(program.Given).rule(found)
		r.Where = m.place(program.Given)
		m.access().Fs = append(m.access().Fs, r)
	}
	if below, ok := strings.CutPrefix(found, "~/"); ok {
		found = path.Join(m.entry.Home, below)
	}
	if strings.HasPrefix(program.Given, "-") {
		m.args = append(m.args, program.Given+"="+found)
	} else {
		m.env[program.Given] = found
	}
}

// find returns the path of the program, if the server would not find it by itself.
func (p elsewhere) find(e Entry) string {
	if p.Given == "" || e.names(append([]string{p.Given}, p.Unless...)) {
		return ""
	}
	for _, pattern := range p.Own {
		if len(e.glob(pattern)) > 0 {
			return ""
		}
	}
	for _, pattern := range p.Also {
		if found := e.glob(pattern); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}

func (m *maker) each() {
	for _, d := range m.preset.Each {
		for _, pattern := range d.Paths {
			for _, name := range m.entry.glob(pattern + "/") {
				if policy.CheckPath(name) != nil {
					continue
				}
				r := d.rule(name)
				r.Optional, r.Where = true, m.place(pattern)
				m.access().Fs = append(m.access().Fs, r)
			}
		}
	}
}

// Narrow makes a rule for a part of writing in the server's directory one for reading, and reports
// whether there was one. In one of the jail's private places, such as /tmp, no such rule can be held: the
// server may write everything around the directory, and what takes writing away there takes all of it.
func Narrow(s *config.Server) (narrowed bool) {
	if s.Access == nil {
		return false
	}
	for i, r := range s.Access.Fs {
		if writes := r.Create || r.Update || r.Delete; r.Path == "." && writes && !(r.Create && r.Update && r.Delete) {
			r.Create, r.Update, r.Delete = false, false, false
			s.Access.Fs[i], narrowed = r, true
		}
	}
	return narrowed
}

// valueOf returns what is known of the value of a variable or an argument.
func (p *Preset) valueOf(label string) Value {
	if v, ok := p.Variable(label); ok {
		return v.Value
	}
	for _, a := range p.Arguments {
		if a.label() == label {
			return a.Value
		}
	}
	return Value{Kind: plainText}
}

// label returns what the argument is called in messages.
func (a argument) label() string {
	switch {
	case a.Flag != "":
		return a.Flag
	case a.Rest:
		return "rest"
	}
	return fmt.Sprint(a.Position)
}
