package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"
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
		if !hasX && isJails(at, x.Path) || !hasY && isJails(at, y.Path) {
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

// isJails reports whether the jail has a file or directory of its own at a path for which entry is the nearest.
func isJails(at, entry string) bool {
	switch at {
	case "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gitconfig":
		return true
	}
	return slices.ContainsFunc([]string{"/tmp", "/dev", "/proc"}, func(own string) bool { return Within(at, own) && !Within(cmp.Or(entry, "/"), own) })
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
