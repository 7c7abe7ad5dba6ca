package seatbelt

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Files returns the rules of a profile for files.
func Files(p *policy.Profile, form Form) []Rule {
	f := newFiles(p, form)
	any := func(r policy.Rights) bool { return r != 0 }
	read := func(r policy.Rights) bool { return r.Has(policy.Read) }
	execute := func(r policy.Rights) bool { return r.Has(policy.Execute) }
	rules := slices.Concat(
		f.rules(opsMetadata, "metadata", f.readable(any)),
		[]Rule{{Ops: opsMetadata, Filters: f.ways(), Why: "the way to each entry"}},
		f.rules(opsRead, "read", f.readable(read)),
		f.rules(opsMap, "libraries", f.readable(execute)),
	)
	if p.Programs == nil {
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
	r := f.regions(kindCreate)
	cannotWrite := func(a area) bool { return !a.entry.Rights.Has(policy.Update) }
	r.common, r.own = slices.DeleteFunc(r.common, cannotWrite), slices.DeleteFunc(r.own, cannotWrite)
	r.packages, r.replaceable = slices.DeleteFunc(r.packages, cannotWrite), nil
	return f.regionRules(opsSockets, "UNIX sockets", r)
}

// rules returns the rules of a frontier.
func (f *files) rules(ops []string, why string, areas []area) (out []Rule) {
	if f.form == Layered {
		for _, a := range areas {
			out = append(out, a.layers(ops, why+" in an entry")...)
		}
		return out
	}
	r := Rule{Ops: ops, Why: why}
	for _, a := range areas {
		r.Filters = append(r.Filters, a.all())
	}
	return []Rule{r}
}

// regionRules returns the rules of a right about which names decide as well.
func (f *files) regionRules(ops []string, why string, r regions) (out []Rule) {
	if f.form == Layered {
		return append(f.layeredRegions(ops, why, r), Rule{Ops: ops, Filters: r.replaceable, Why: why + " of files that may be replaced"})
	}
	rule := Rule{Ops: ops, Why: why}
	for _, a := range r.own {
		rule.Filters = append(rule.Filters, a.all())
	}
	rule.Filters = append(rule.Filters, together(r.common, nil, protection(anywhere, r.kind))...)
	only, less := packagesOnly(anywhere)
	rule.Filters = append(rule.Filters, together(r.packages, []Filter{only}, less)...)
	rule.Filters = append(rule.Filters, r.replaceable...)
	return []Rule{rule}
}

// together returns one filter for areas with the same limits.
func together(areas []area, only, less []Filter) []Filter {
	if len(areas) == 0 {
		return nil
	}
	var one Any
	for _, a := range areas {
		one = append(one, a.all())
	}
	return []Filter{area{at: one, only: only, less: less}.all()}
}

// layeredRegions returns the layers of the areas with common exclusions, those exclusions, and then
// the layers of other entries and of what is below them.
func (f *files) layeredRegions(ops []string, why string, r regions) (out []Rule) {
	rest := slices.Clone(r.own)
	for _, a := range r.common {
		if slices.ContainsFunc(r.own, func(o area) bool { return policy.Within(a.entry.Path, o.entry.Path) }) {
			rest = append(rest, a.without(f.protectionInside(a.entry, r.kind)))
		} else {
			out = append(out, a.layers(ops, why+" in an entry")...)
		}
	}
	if len(out) > 0 {
		out = append(out, area{less: protection(anywhere, r.kind)}.layers(ops, "protected names")...)
	}
	slices.SortStableFunc(rest, func(a, b area) int { return depth(a.entry.Path) - depth(b.entry.Path) })
	for _, a := range rest {
		out = append(out, a.layers(ops, why+" in an entry")...)
	}
	return out
}

// layers returns an allow and the denies after it, with simple filters only.
func (a area) layers(ops []string, why string) (out []Rule) {
	if a.at != nil {
		out = append(out, Rule{Ops: ops, Filters: []Filter{a.at}, Why: why})
	}
	deny := Rule{Deny: true, Ops: ops, Why: "but not"}
	for _, f := range a.less {
		deny.Filters = append(deny.Filters, simple(f)...)
	}
	return append(out, deny)
}

// simple returns filters without conditions that match at least what f matches.
func simple(f Filter) []Filter {
	switch f := f.(type) {
	case Subpath:
		return []Filter{Literal(f), f}
	case All:
		for _, g := range slices.Backward(f) {
			if _, not := g.(Not); !not {
				return simple(g)
			}
		}
	}
	return []Filter{f}
}
