package policy

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Meet returns the profile that allows what both profiles allow, axis by axis, and nothing else. Both are
// of the same server on the same host. What no axis has, such as the program, the settings and the secrets of
// hosts, is that of a. The error is a *[ConflictError] for two rules for which no one rule can stand.
//
// Invariant: Meet(a, b) allows no path, host, port or program, and has no variable, that a or b does
// not. It equals a where b has the same.
func Meet(a, b *Profile) (*Profile, error) {
	out := *a
	out.Entries = meetEntries(a, b)
	if err := FindConflict(out.Entries); err != nil {
		return nil, err
	}
	out.ListOnly = both(a.ListOnly, b.ListOnly)
	out.GitDirs = either(a.GitDirs, b.GitDirs)
	out.Hidden = append(slices.Clone(a.Hidden), slices.DeleteFunc(slices.Clone(b.Hidden), func(h string) bool { return slices.Contains(a.Hidden, h) })...)
	out.Unprotected = slices.DeleteFunc(either(a.Unprotected, b.Unprotected), func(p string) bool { return (out.RightsAt(path.Dir(p))|out.RightsAt(p))&Write == 0 })
	out.IgnoreCase = either(a.IgnoreCase, b.IgnoreCase)
	out.LinksAstray = a.LinksAstray || b.LinksAstray
	out.Default = a.Default && b.Default
	if a.Dir != b.Dir && out.RightsAt(a.Dir) == 0 {
		out.Dir = b.Dir
	}
	err := meetCommands(&out, a, b)
	if err != nil {
		return nil, err
	}
	if out.Net, err = meetNet(a.Net, b.Net); err != nil {
		return nil, err
	}
	out.Secrets = slices.DeleteFunc(slices.Clone(a.Secrets), func(s Secret) bool {
		return !slices.ContainsFunc(out.Net, func(r NetRule) bool { return slices.Contains(r.SecretNames(), s.Env) })
	})
	out.Inbound, out.OptionalInbound = both(a.Inbound, b.Inbound), both(a.OptionalInbound, b.Inbound)
	out.Env, out.Withheld = meetEnv(&out, a, b), either(a.Withheld, b.Withheld)
	limits := b.Limits.keys()
	for i, k := range out.Limits.keys() {
		if other := *limits[i].value; other != 0 && (*k.value == 0 || other < *k.value) {
			*k.value = other
		}
	}
	return &out, nil
}

func both[T comparable](a, b []T) []T {
	return slices.DeleteFunc(slices.Clone(a), func(x T) bool { return !slices.Contains(b, x) })
}

func either(a, b []string) []string {
	if len(b) == 0 {
		return slices.Clone(a)
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// meetEntries returns an entry for each path of which either profile has one, with the rights that both
// give there.
func meetEntries(a, b *Profile) (out []Entry) {
	met := &Profile{}
	paths := make([]string, 0, len(a.Entries)+len(b.Entries))
	for _, p := range []*Profile{a, b} {
		for _, e := range p.Entries {
			paths = append(paths, e.Path)
		}
	}
	for _, at := range slices.Compact(slices.Sorted(slices.Values(paths))) { // a directory is before what is in it
		x, _ := a.Find(at)
		y, _ := b.Find(at)
		hasX, hasY := x.Path == at, y.Path == at
		if !hasX && IsOwnPlace(at, x.Path) || !hasY && IsOwnPlace(at, y.Path) {
			continue // one of the two shows none of the host's files there
		}
		e := x
		if hasY && (!hasX || y.Rights != x.Rights && x.Rights.Has(y.Rights)) {
			e = y
		}
		e.Rights = x.Rights & y.Rights
		if !hasX && a.Protects(OpWrite, at) || !hasY && b.Protects(OpWrite, at) {
			e.Rights &^= Write // an entry of its own would lift what the name protects
		}
		e.Added &= e.Rights
		e.Ephemeral = x.Ephemeral || y.Ephemeral
		around, covered := met.Find(path.Dir(at))
		covered = covered && at != "/"
		switch {
		case hasX && e.Rights == x.Rights && (e.Rights != 0 || hasY): // as it is in a
		case e.Rights == 0 && (!covered || around.Rights == 0):
			continue // nothing is there to hide
		case e.Make && !hasX && !x.Rights.Has(Create):
			continue // it is not there, and a does not let it be made
		case covered && e.Origin == OriginRule && e.Rights == around.Rights && around.Origin == OriginRule && !e.Make && e.Kind != KindSpecial:
			continue // it changes nothing
		}
		met.Entries = append(met.Entries, e)
	}
	return met.Entries
}

// IsOwnPlace reports whether the jail has a file or directory of its own at a path for which entry is the nearest.
func IsOwnPlace(at, entry string) bool {
	switch at {
	case "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gitconfig":
		return true
	}
	return slices.ContainsFunc([]string{"/tmp", "/dev", "/dev/shm", "/proc"}, func(own string) bool { return Within(at, own) && !Within(cmp.Or(entry, "/"), own) })
}

// meetEnv returns the variables that both profiles have, with the values of a, and those that mcp-jail sets
// itself for one of them.
func meetEnv(out, a, b *Profile) []Variable {
	has := func(p *Profile, name string) bool {
		return slices.ContainsFunc(p.Env, func(v Variable) bool { return v.Name == name })
	}
	secret := func(name string) bool {
		return slices.ContainsFunc(a.Secrets, func(s Secret) bool { return s.Env == name })
	}
	kept := func(name string) bool {
		return slices.ContainsFunc(out.Secrets, func(s Secret) bool { return s.Env == name })
	}
	all := slices.DeleteFunc(slices.Clone(a.Env), func(v Variable) bool {
		if secret(v.Name) {
			return !kept(v.Name)
		}
		return !has(b, v.Name)
	})
	for _, v := range b.Env {
		if strings.HasPrefix(v.Rule, OwnVariable) && !has(a, v.Name) {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(x, y Variable) int { return strings.Compare(x.Name, y.Name) })
	return all
}

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
		file, none := x.Starts[0].File, true
		theirs := formsOf(b, file)
		if len(theirs) > 0 && !reflect.DeepEqual(startsOf(formsOf(a, file)), startsOf(theirs)) {
			return &ConflictError{Reason: fmt.Sprintf("%s: commands.%s and %s: commands.%s are about two forms of %s, and no rule allows what both allow: name the program in one way", x.Where, show.Key(x.Name), theirs[0].Where, show.Key(theirs[0].Name), file)}
		}
		for _, y := range theirs {
			if both := (Command{x.Name, x.Where, andLists(x.Args, y.Args), andEnvs(x, y), x.Starts}); reflect.DeepEqual(x.Starts, y.Starts) && (both.Args == nil || len(both.Args) > 0) {
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

func startsOf(forms []Command) (out [][]Start) {
	for _, c := range forms {
		out = append(out, c.Starts)
	}
	return slices.CompactFunc(out, func(a, b []Start) bool { return reflect.DeepEqual(a, b) }) // rules for one program follow each other
}

// andLists returns the lists for the arguments that two sets of lists allow; nil is any arguments.
func andLists(a, b [][]string) [][]string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := [][]string{}
	for _, x := range a {
		for _, y := range b {
			if list, ok := andArguments(x, y); ok {
				both = append(both, list)
			}
		}
	}
	return both
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
func andEnvs(a, b Command) []string {
	for _, side := range [][2]Command{{a, b}, {b, a}} {
		if envs := side[1].Envs; side[0].Envs == nil {
			if side[0].Args == nil || envs == nil {
				return envs
			}
			return slices.DeleteFunc(slices.Clone(envs), IsDangerousVariable)
		}
	}
	both := []string{}
	for _, x := range a.Envs {
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

// meetNet returns rules that allow what both lists allow: the refusals of both, and for each pair of rules that
// allow, the one for the requests of both.
func meetNet(a, b []NetRule) (out []NetRule, err error) {
	if reflect.DeepEqual(a, b) {
		return a, nil
	}
	add := func(r NetRule) {
		if !slices.ContainsFunc(out, func(o NetRule) bool { return slices.Equal(o.TOMLFields(), r.TOMLFields()) }) {
			out = append(out, r)
		}
	}
	for _, r := range slices.Concat(a, b) {
		if !r.Allow {
			add(r)
		}
	}
	for _, x := range a {
		for _, y := range b {
			both, some := x.and(y)
			if !some {
				continue
			}
			if err := CheckNetRule(both); err != nil {
				return nil, &ConflictError{Reason: fmt.Sprintf("%s: host = %s and %s: host = %s have no rule for what both allow: %s", x.Where, show.TOML(x.Host), y.Where, show.TOML(y.Host), err)}
			}
			add(both)
		}
	}
	return out, nil
}

// Includes reports whether a rule allows all that another allows, with the same secrets.
func (r NetRule) Includes(o NetRule) bool {
	both, some := r.and(o)
	own, _ := o.and(o) // in the same form
	return some && slices.Equal(both.TOMLFields(), own.TOMLFields())
}

// and returns the rule for the requests that two rules allow. Its secrets are those of r.
func (r NetRule) and(o NetRule) (both NetRule, some bool) {
	both = r
	switch {
	case !r.Allow || !o.Allow:
		return both, false
	case r.Host != o.Host && (namesAddress(r.Host) || namesAddress(o.Host)):
		return both, false // no wildcard allows an address that a rule must name
	case hostIncludes(r.Host, o.Host):
		both.Host = o.Host
	case !hostIncludes(o.Host, r.Host):
		return both, false
	}
	switch {
	case r.Scheme == "" || r.Scheme == "tcp":
		both.Scheme = o.Scheme
	case o.Scheme != "" && o.Scheme != "tcp" && o.Scheme != r.Scheme:
		return both, false
	}
	ports := slices.DeleteFunc(slices.Clone(r.Ports()), func(port int) bool { return !slices.Contains(o.Ports(), port) })
	if len(ports) == 0 {
		return both, false
	}
	if both.Port = 0; !slices.Equal(both.Ports(), ports) {
		both.Port = ports[0]
	}
	mine, theirs := pathPrefix(r.PathPrefix), pathPrefix(o.PathPrefix)
	switch {
	case beginsWith(mine, theirs):
		both.PathPrefix = o.PathPrefix
	case !beginsWith(theirs, mine):
		return both, false
	}
	switch {
	case len(r.Methods) == 0:
		both.Methods = o.Methods
	case len(o.Methods) > 0:
		both.Methods = slices.DeleteFunc(slices.Clone(r.Methods), func(m string) bool { return !slices.Contains(o.Methods, m) })
		if len(both.Methods) == 0 {
			return both, false
		}
	}
	if both.Scheme != "" && both.Scheme != "https" {
		both.Secrets = nil // they are not sent there
	}
	return both, true
}

// namesAddress reports whether a host is an address or localhost, which CheckAddress lets be dialled where a
// rule names them.
func namesAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost"
}

func hostIncludes(wide, narrow string) bool {
	suffix, wild := strings.CutPrefix(wide, "*")
	return wide == narrow || wild && strings.HasSuffix(narrow, suffix)
}

// isLoopback reports whether a host is localhost, or one of its two addresses.
func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
