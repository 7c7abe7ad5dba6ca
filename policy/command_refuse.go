package policy

import (
	"slices"
	"strings"
)

// NarrowCommands returns the command rules that allow what both lists allow, sorted by name. nil is
// any program. Names are compared as they are written.
func NarrowCommands(rules, by []CommandRule) []CommandRule {
	switch {
	case by == nil:
		return rules
	case rules == nil:
		return by
	}
	out := []CommandRule{}
	for _, r := range rules {
		if slices.ContainsFunc(by, r.Equal) {
			out = append(out, r)
			continue
		}
		for _, b := range by {
			if both, some := r.and(b); some && !slices.ContainsFunc(out, both.Equal) {
				out = append(out, both)
			}
		}
	}
	return out
}

// Equal reports whether two rules say the same.
func (r CommandRule) Equal(o CommandRule) bool {
	return r.Name == o.Name && (r.Args == nil) == (o.Args == nil) && (r.Envs == nil) == (o.Envs == nil) &&
		slices.EqualFunc(r.Args, o.Args, slices.Equal[[]string]) && slices.Equal(r.Envs, o.Envs)
}

// and returns the rule that allows what both rules allow; some is false if that is nothing.
func (r CommandRule) and(b CommandRule) (both CommandRule, some bool) {
	both = CommandRule{Name: r.Name, Args: r.Args, Envs: andEnvs(r, b), Where: r.Where}
	switch {
	case r.Name != b.Name:
		return both, false
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
