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
		f.readable(opsMetadata, "metadata", any),
		[]Rule{{Ops: opsMetadata, Filters: f.ways(), Why: "the way to each entry"}},
		f.readable(opsRead, "read", read),
		[]Rule{{Ops: opsRead[:1], Filters: f.listOnly(), Why: "the names in the directories above the working directory, for bun"}},
		f.readable(opsMap, "libraries", execute),
	)
	if f.p.Programs == nil {
		rules = append(rules, f.readable(opsExecute, "execute", execute)...)
	} else {
		rules = append(rules, Rule{Ops: opsExecute, Filters: f.programs(), Why: "the listed programs"})
	}
	return slices.Concat(rules, f.changing(kindUpdate, opsUpdate, "update"), f.changing(kindCreate, opsCreate, "create"),
		f.changing(kindDelete, opsDelete, "delete"), f.changing(kindAttributes, opsAttributes, "attributes"))
}

// changing returns the rules of a right about which names decide as well.
func (f *files) changing(k kind, ops []string, why string) []Rule {
	l := &layers{ops: ops}
	grants := func(i int) bool {
		return f.entries[i].Kind == policy.KindDir && f.changes[i] && k.in(f.entries[i].Rights)
	}
	own := f.own(k)
	in := func(want bool) func(int) bool {
		return func(i int) bool { return own[i] == want && f.entries[i].Kind == policy.KindDir }
	}
	f.trees(l, why, in(false), grants, nil)
	l.deny("protected names", f.protected(k)...)
	f.trees(l, why, in(true), grants, func(i int) []Filter { return f.protectedInside(f.entries[i], k) })
	for i := range f.entries {
		if grants(i) {
			l.deny("but not", f.unprotected(i, k)...)
		}
	}
	if k.names() {
		l.deny("what keeps its place", f.pins(k, grants)...)
	}
	for i, e := range f.entries {
		around := f.parent[i]
		inGrant := around >= 0 && grants(around)
		switch {
		case e.Kind == policy.KindDir:
		case k.names():
			// Such a file may be replaced, also where its name is protected, but not by a link.
			if k != kindSocket && inGrant && !f.pinned[i] && !(k == kindCreate && f.p.ProtectsFromLink(e.Path)) {
				l.allow("files that may be replaced", Literal(e.Path))
			}
		case k == kindUpdate && k.in(e.Rights) && f.p.Allows(policy.OpWrite, e.Path), k == kindAttributes && f.changes[i]:
			l.allow(why, Literal(e.Path))
		case inGrant:
			l.deny("but not", Subpath(e.Path))
		}
	}
	return l.rules
}

// sockets returns the rules for UNIX sockets: they may be made, and connected to, in entries in which
// the server may make files and write them, less the objects that are no files.
func (f *files) sockets() []Rule {
	rules := f.changing(kindSocket, opsSockets, "UNIX sockets")
	if len(rules) > 0 {
		rules = append(rules, Rule{true, opsSockets, []Filter{Literal(resolver)}, "but not"})
	}
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
