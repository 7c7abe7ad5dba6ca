package change

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Gives is what a policy gives of one thing.
type Gives struct {
	Has    bool          // a host at a port, a variable, or a port that leads in
	Rights policy.Rights // at a path
	Only   []string      // of a host: the requests that it has a part of, in words; nil for all of them
}

// Row is one thing that a server has more or less of after a change.
type Row struct {
	Axis    policy.Axis
	Name    string // a path, a host, a variable; "" for a port that leads in
	Port    int
	Dir     bool // the path is that of a directory
	Was, Is Gives
}

// Rows returns what differs between two policies that were resolved on one host. What a program needs for its start, and
// what mcp-jail sets itself, are no rows.
func Rows(before, after *policy.Profile) []Row {
	rows := slices.Concat(fsRows(before, after), NetRows(before.Net, after.Net))
	for _, v := range slices.Concat(before.Env, after.Env) {
		has := func(p *policy.Profile) bool {
			return slices.ContainsFunc(p.Env, func(o policy.Variable) bool { return o.Name == v.Name })
		}
		if isOwn := v.Rule == policy.AuthorityRule || strings.HasPrefix(v.Rule, policy.OwnVariable); has(before) != has(after) && !isOwn {
			rows = append(rows, Row{Axis: policy.AxisEnv, Name: v.Name, Was: Gives{Has: has(before)}, Is: Gives{Has: has(after)}})
		}
	}
	for _, port := range slices.Concat(before.Inbound, after.Inbound) {
		if was, is := slices.Contains(before.Inbound, port), slices.Contains(after.Inbound, port); was != is {
			rows = append(rows, Row{Axis: policy.AxisNet, Port: port, Was: Gives{Has: was}, Is: Gives{Has: is}})
		}
	}
	return rows
}

// fsRows has a row for each path at which other rights hold, but for those where the row of a directory around says it.
func fsRows(before, after *policy.Profile) (rows []Row) {
	var paths []string
	for _, e := range slices.Concat(before.Entries, after.Entries) {
		paths = append(paths, e.Path)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		had, _ := before.Find(path)
		has, _ := after.Find(path)
		if had.Rights == has.Rights || had.Origin <= policy.OriginBaseline && has.Origin == policy.OriginBaseline {
			continue
		}
		row := Row{Axis: policy.AxisFs, Name: path, Dir: has.Path == path && has.Kind == policy.KindDir, Was: Gives{Rights: had.Rights}, Is: Gives{Rights: has.Rights}}
		around := func(o Row) bool {
			return policy.Within(path, o.Name) && o.Was.Rights == had.Rights && o.Is.Rights == has.Rights
		}
		if !slices.ContainsFunc(rows, around) {
			rows = append(rows, row)
		}
	}
	return rows
}

// NetRows is Rows for lists of rules: a row for each host and port of which another part may be reached.
func NetRows(before, after []policy.NetRule) (rows []Row) {
	for _, r := range slices.Concat(before, after) {
		for _, port := range r.Ports() {
			row := Row{Axis: policy.AxisNet, Name: r.Host, Port: port, Was: reached(before, r.Host, port), Is: reached(after, r.Host, port)}
			isSame := func(o Row) bool { return o.Name == row.Name && o.Port == port }
			if differs := row.Was.Has != row.Is.Has || !slices.Equal(row.Was.Only, row.Is.Only); differs && !slices.ContainsFunc(rows, isSame) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// reached returns what all rules together give of a host at a port.
func reached(rules []policy.NetRule, host string, port int) (g Gives) {
	whole := false
	for _, r := range rules {
		part := slices.Clone(r.Methods)
		if r.PathPrefix != "" {
			part = append(part, r.PathPrefix)
		}
		for _, name := range r.SecretNames() {
			part = append(part, "with "+name)
		}
		switch {
		case !r.Covers(host, port):
		case !r.Allow && part == nil:
			return Gives{}
		case r.Allow:
			g.Has, whole = true, whole || part == nil
			g.Only = append(g.Only, strings.Join(part, " "))
		}
	}
	if whole {
		g.Only = nil
	}
	return g
}

// Lifts reports whether a row gives all of a host of which the server had a part.
func (r Row) Lifts() bool {
	return r.Was.Has && r.Was.Only != nil && r.Is.Has && r.Is.Only == nil
}

// Row returns the row of an object if the server had nothing of it. That of a denial and of a setting is zero.
func (o Object) Row() (r Row) {
	switch r.Is.Rights = o.Fs.Rights(); {
	case o.Fs.Path != "":
		r.Axis, r.Name = policy.AxisFs, o.Fs.Path
	case o.Net.Host != "":
		r.Axis, r.Name, r.Port, r.Is.Has = policy.AxisNet, o.Net.Host, o.Net.Ports()[0], true
	case o.Env != "":
		r.Axis, r.Name, r.Is.Has = policy.AxisEnv, o.Env, true
	case o.Inbound != 0:
		r.Axis, r.Port, r.Is.Has = policy.AxisNet, o.Inbound, true
	}
	return r
}

// IsZero reports whether nothing is given.
func (g Gives) IsZero() bool { return !g.Has && g.Rights == 0 }

// A BeyondError reports a change that does more than it says.
type BeyondError struct{ Rows []Row }

func (e *BeyondError) Error() string { return Because(e.Reason(), "it") }

// Reason returns the error as a reason against the change.
func (e *BeyondError) Reason() policy.Reason {
	r := policy.Reason{Kind: policy.WhyGivesMore}
	for _, row := range e.Rows[:min(len(e.Rows), 3)] {
		r.Names = append(r.Names, row.called())
	}
	return r
}

func (r Row) called() string {
	if r.Axis == policy.AxisNet {
		return Object{Net: policy.NetRule{Host: r.Name, Port: r.Port}, Inbound: r.Port}.Name()
	}
	return r.Name
}

// Exact returns a *BeyondError if some rows are more than what objects are about, or take something away from a server
// that is to get more. within reports whether a path of a profile lies where a path that is named leads.
func Exact(rows []Row, objects []Object, within func(path, named string) bool) error {
	beyond := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return slices.ContainsFunc(objects, func(o Object) bool { return o.Has(r, within) })
	})
	if len(beyond) > 0 {
		return &BeyondError{beyond}
	}
	return nil
}

// Has reports whether a row is about an object, or a part of it. A setting such as a preset is about anything.
func (o Object) Has(r Row, within func(path, named string) bool) bool {
	gained, lost := r.Is.Rights&^r.Was.Rights, r.Was.Rights&^r.Is.Rights
	switch {
	case o.Setting.hasFlag():
		return true
	case r.Axis == policy.AxisFs && o.Fs.Path != "":
		return within(r.Name, o.Fs.Path) && o.Fs.Rights().Has(gained) && o.Fs.Deny.Has(lost)
	case r.Axis == policy.AxisEnv:
		return r.Is.Has && o.Env != "" && policy.EnvIncludes(o.Env, r.Name)
	case r.Axis == policy.AxisNet && r.Name == "":
		return r.Is.Has && o.Inbound == r.Port
	case r.Axis == policy.AxisNet:
		return r.Is.Has && o.Net.Host != "" && slices.Contains(o.Net.Ports(), r.Port) && o.Net.Covers(r.Name, r.Port)
	}
	return false
}
