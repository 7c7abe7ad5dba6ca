package seatbelt

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// all returns the rules of the profile for files.
func (f *files) all() []Rule {
	any := func(r policy.Rights) bool { return r != 0 }
	read := func(r policy.Rights) bool { return r.Has(policy.Read) }
	execute := func(r policy.Rights) bool { return r.Has(policy.Execute) }
	rules := slices.Concat(
		f.rules(opsMetadata, "metadata", f.readable(any)),
		[]Rule{{Ops: opsMetadata, Filters: f.ways(), Why: "the way to each entry"}},
		f.rules(opsRead, "read", f.readable(read)),
		[]Rule{{Ops: opsRead[:1], Filters: f.listOnly(), Why: "the names in the directories above the working directory, for bun"}},
		f.rules(opsMap, "libraries", f.readable(execute)),
	)
	if f.p.Programs == nil {
		rules = append(rules, f.rules(opsExecute, "execute", f.readable(execute))...)
	} else {
		rules = append(rules, Rule{Ops: opsExecute, Filters: f.programs(), Why: "the listed programs"})
	}
	for _, r := range []struct {
		kind kind
		ops  []string
		why  string
	}{
		{kindUpdate, opsUpdate, "update"}, {kindCreate, opsCreate, "create"},
		{kindDelete, opsDelete, "delete"}, {kindAttributes, opsAttributes, "attributes"},
	} {
		rules = append(rules, f.regionRules(r.ops, r.why, f.regions(r.kind))...)
	}
	return slices.DeleteFunc(rules, func(r Rule) bool { return len(r.Filters) == 0 })
}

// sockets returns the rules for UNIX sockets: they may be made, and connected to, in entries in which
// the server may make files and write them, less the objects that are no files.
func (f *files) sockets() []Rule {
	r := f.regions(kindSocket)
	cannotWrite := func(a area) bool { return !a.entry.Rights.Has(policy.Update) }
	r.common, r.own = slices.DeleteFunc(append(r.common, r.both...), cannotWrite), slices.DeleteFunc(r.own, cannotWrite)
	r.both, r.packages, r.replaceable = nil, nil, nil
	for _, areas := range [][]area{r.common, r.own} {
		for i, a := range areas {
			if policy.Within(resolver, a.entry.Path) {
				areas[i] = a.without([]Filter{Literal(resolver)})
			}
		}
	}
	rules := f.regionRules(opsSockets, "UNIX sockets", r)
	named := Rule{Ops: opsSockets[1:], Why: "sockets that a rule names"}
	for _, e := range f.entries {
		if e.Kind == policy.KindSpecial && e.Origin == policy.OriginRule && e.Path != resolver && f.p.Allows(policy.OpWrite, e.Path) {
			named.Filters = append(named.Filters, Literal(e.Path))
		}
	}
	return slices.DeleteFunc(append(rules, named), func(r Rule) bool { return len(r.Filters) == 0 })
}

// resolver is the socket of the system's resolver. It asks any host's name server, so no rule opens it.
const resolver = "/private/var/run/mDNSResponder"

// rules returns the rules of a frontier.
func (f *files) rules(ops []string, why string, areas []area) (out []Rule) {
	r := Rule{Ops: ops, Why: why}
	for _, a := range areas {
		r.Filters = append(r.Filters, a.all())
	}
	return []Rule{r}
}

// regionRules returns the rules of a right about which names decide as well.
func (f *files) regionRules(ops []string, why string, r regions) (out []Rule) {
	rule := Rule{Ops: ops, Why: why}
	for _, a := range r.own {
		rule.Filters = append(rule.Filters, a.all())
	}
	only, less := packagesOnly(anywhere)
	unprotected, inPackages := limit(nil, protection(anywhere, r.kind)), limit([]Filter{only}, less)
	rule.Filters = append(rule.Filters, together(r.both, Any{unprotected, inPackages})...)
	rule.Filters = append(rule.Filters, together(r.common, unprotected)...)
	rule.Filters = append(rule.Filters, together(r.packages, inPackages)...)
	rule.Filters = append(rule.Filters, r.replaceable...)
	return []Rule{rule}
}

// together returns one filter for areas with the same limit.
func together(areas []area, limits Filter) []Filter {
	if len(areas) == 0 {
		return nil
	}
	var one Any
	for _, a := range areas {
		one = append(one, a.all())
	}
	return []Filter{All{one, limits}}
}
