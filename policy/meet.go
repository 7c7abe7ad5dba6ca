package policy

import (
	"cmp"
	"net/netip"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Meet returns the profile that allows what both profiles allow, axis by axis, and nothing else. Both are
// of the same server on the same host. What no axis has, such as the program, the settings and the secrets of
// hosts, is that of a. The error is that of [FindConflict].
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
	meetCommands(&out, a, b)
	out.Net = meetNet(a.Net, b.Net)
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

// meetCommands makes out start what both profiles start: the files that both list, each as the commands of both allow.
func meetCommands(out, a, b *Profile) {
	switch {
	case b.Programs == nil:
		return // those of a
	case a.Programs == nil:
		out.Programs, out.Loaders, out.CommandArgs, out.Commands, out.OwnPrograms = b.Programs, b.Loaders, b.CommandArgs, b.Commands, b.OwnPrograms
		return
	}
	out.Programs, out.Loaders, out.CommandArgs = both(a.Programs, b.Programs), both(a.Loaders, b.Loaders), either(a.CommandArgs, b.CommandArgs)
	switch {
	case !b.ConstrainsStarts() || reflect.DeepEqual(a.Commands, b.Commands):
	case !a.ConstrainsStarts():
		out.Commands, out.OwnPrograms = b.Commands, b.OwnPrograms
	default:
		out.AndCommands = append([]Command{}, b.Commands...) // not nil: a list without rules allows none
		out.OwnPrograms = both(a.OwnPrograms, b.OwnPrograms)
	}
}

// EnvIncludes reports whether the variables of one name or prefix are among those of another.
func EnvIncludes(wide, narrow string) bool {
	prefix, wild := strings.CutSuffix(wide, "*")
	return wide == narrow || wild && strings.HasPrefix(narrow, prefix)
}

// meetNet returns rules that allow what both lists allow: the refusals of both, and for each pair of rules that
// allow, the one for the requests of both.
func meetNet(a, b []NetRule) (out []NetRule) {
	if reflect.DeepEqual(a, b) {
		return a
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
			if both, some := x.and(y); some {
				add(both)
			}
		}
	}
	return out
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
	case strings.Contains(r.Host+o.Host, "*") && r.Host != o.Host && (namesAddress(r.Host) || namesAddress(o.Host)):
		return both, false // no wildcard allows an address that a rule must name
	case hostIncludes(r.Host, o.Host):
		both.Host = o.Host
	case !hostIncludes(o.Host, r.Host):
		return both, false
	}
	switch { // a rule with "tcp" is the widest: one without a scheme passes no bytes unseen
	case r.Scheme == "tcp", r.Scheme == "" && o.Scheme != "tcp":
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

// hostIncludes reports whether a rule for one host is about another. A rule for localhost is about its two addresses.
func hostIncludes(wide, narrow string) bool {
	suffix, wild := strings.CutPrefix(wide, "*")
	return wide == narrow || wild && strings.HasSuffix(narrow, suffix) || wide == "localhost" && isLoopback(narrow)
}

// isLoopback reports whether a host is localhost, or one of its two addresses.
func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
