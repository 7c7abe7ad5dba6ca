package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// meetCommands makes out start what both profiles start. Where one of them has other forms of one program, no
// list of commands says what both allow: that is an error.
func meetCommands(out, a, b *Profile) error {
	switch {
	case b.Programs == nil || slices.Equal(a.Programs, b.Programs) && reflect.DeepEqual(a.Commands, b.Commands):
		return nil // those of a
	case a.Programs == nil:
		out.Programs, out.Loaders, out.CommandArgs, out.Commands, out.OwnPrograms = b.Programs, b.Loaders, b.CommandArgs, b.Commands, b.OwnPrograms
		return nil
	}
	out.Programs, out.Loaders = both(a.Programs, b.Programs), both(a.Loaders, b.Loaders)
	if out.Programs == nil {
		out.Programs = []string{} // none
	}
	out.CommandArgs, out.Commands, out.OwnPrograms = either(a.CommandArgs, b.CommandArgs), nil, nil
	if out.CommandArgs == nil {
		return nil
	}
	for _, file := range out.Programs {
		if startsFreely(a, file) && startsFreely(b, file) {
			out.OwnPrograms = append(out.OwnPrograms, file)
		}
	}
	for _, side := range [][2]*Profile{{a, b}, {b, a}} {
		for _, x := range formsIn(side[0]) {
			file := x.Starts[0].File
			if len(formsOf(side[1], file)) > 0 {
				continue
			}
			if !startsFreely(side[1], file) {
				x.Args = [][]string{} // no arguments are allowed
			}
			out.Commands = append(out.Commands, x)
		}
	}
	for _, x := range formsIn(a) {
		theirs, none := formsOf(b, x.Starts[0].File), true
		for _, y := range theirs {
			if len(startsOf(formsOf(a, x.Starts[0].File))) != len(startsOf(theirs)) || !hasStart(theirs, x.Starts[0]) {
				return &ConflictError{Reason: fmt.Sprintf("%s: commands.%s and %s: commands.%s are about two forms of %s, and no rule allows what both allow: name the program in one way", x.Where, show.Key(x.Name), y.Where, show.Key(y.Name), x.Starts[0].File)}
			}
			if both, some := x.and(y); some {
				none, out.Commands = false, append(out.Commands, both)
			}
		}
		if none && len(theirs) > 0 {
			x.Args = [][]string{}
			out.Commands = append(out.Commands, x)
		}
	}
	return nil
}

// startsFreely reports whether a program may be started with any arguments, since no rule is about it.
func startsFreely(p *Profile, file string) bool {
	if p.CommandArgs == nil {
		return slices.Contains(p.Programs, file)
	}
	return slices.Contains(p.OwnPrograms, file) && len(formsOf(p, file)) == 0
}

// formsIn returns the commands with one start each.
func formsIn(p *Profile) (out []Command) {
	for _, c := range p.Commands {
		for _, s := range c.Starts {
			c.Starts = []Start{s}
			out = append(out, c)
		}
	}
	return out
}

func formsOf(p *Profile, file string) []Command {
	return slices.DeleteFunc(formsIn(p), func(c Command) bool { return c.Starts[0].File != file })
}

func startsOf(forms []Command) (out []Start) {
	for _, c := range forms {
		if !slices.ContainsFunc(out, func(s Start) bool { return reflect.DeepEqual(s, c.Starts[0]) }) {
			out = append(out, c.Starts[0])
		}
	}
	return out
}

func hasStart(forms []Command, s Start) bool {
	return slices.ContainsFunc(forms, func(c Command) bool { return reflect.DeepEqual(c.Starts[0], s) })
}

// and returns the command that allows what both commands, with one start each, allow.
func (c Command) and(o Command) (both Command, some bool) {
	rule, some := CommandRule{Args: c.Args, Envs: c.Envs}.and(CommandRule{Args: o.Args, Envs: o.Envs})
	return Command{Name: c.Name, Where: c.Where, Args: rule.Args, Envs: rule.Envs, Starts: c.Starts}, some && reflect.DeepEqual(c.Starts, o.Starts)
}

// and returns the rule that allows what both rules allow; some is false if that is nothing.
func (r CommandRule) and(b CommandRule) (both CommandRule, some bool) {
	both = CommandRule{Args: r.Args, Envs: andEnvs(r, b)}
	switch {
	case r.Args == nil:
		both.Args = b.Args
	case b.Args != nil:
		both.Args = [][]string{}
		for _, x := range r.Args {
			for _, y := range b.Args {
				if list, ok := andArguments(x, y); ok {
					both.Args = append(both.Args, list)
				}
			}
		}
	}
	return both, both.Args == nil || len(both.Args) > 0
}

func andArguments(x, y []string) (both []string, ok bool) {
	both = []string{}
	for i := 0; ; i++ {
		// A "**" at the end of one list takes in all that is left of the other.
		restX, restY := i == len(x)-1 && x[i] == AnyArguments, i == len(y)-1 && y[i] == AnyArguments
		switch {
		case restX && i <= len(y):
			return append(both, y[i:]...), true
		case restY && i <= len(x):
			return append(both, x[i:]...), true
		case i == len(x) && i == len(y):
			return both, true
		case i >= len(x) || i >= len(y):
			return nil, false
		case x[i] == AnyArgument:
			both = append(both, y[i])
		case y[i] == AnyArgument || x[i] == y[i]:
			both = append(both, x[i])
		default:
			return nil, false
		}
	}
}

// andEnvs returns the variables that both rules pass; nil is all. A rule with args and without
// envs passes no variable that loads code.
func andEnvs(r, b CommandRule) []string {
	safe := func(list []string, by CommandRule) []string {
		if by.Args == nil || list == nil {
			return list
		}
		return slices.DeleteFunc(slices.Clone(list), IsDangerousVariable)
	}
	switch {
	case r.Envs == nil:
		return safe(b.Envs, r)
	case b.Envs == nil:
		return safe(r.Envs, b)
	}
	both := []string{}
	for _, x := range r.Envs {
		for _, y := range b.Envs {
			switch {
			case EnvIncludes(x, y):
				both = append(both, y)
			case EnvIncludes(y, x):
				both = append(both, x)
			}
		}
	}
	return both
}

// EnvIncludes reports whether the variables of one name or prefix are among those of another.
func EnvIncludes(wide, narrow string) bool {
	prefix, wild := strings.CutSuffix(wide, "*")
	return wide == narrow || wild && strings.HasPrefix(narrow, prefix)
}
