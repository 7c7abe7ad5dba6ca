package confine

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// supervision decides whether the calls of the write tier are handed over to the
// init. Without that, names that must not come into being can, and nothing that is
// refused is recorded.
func (c *compiler) supervision(o *order) {
	missing := c.f.SeccompNotify
	switch {
	case missing.Answer == Yes && !o.FreshProc:
		missing = c.f.FreshProc
	case missing.Answer == Yes && c.f.PtraceScope.Answer != Yes:
		missing = c.f.PtraceScope
	}
	if missing.Answer == Yes {
		c.supervised = true
		o.Entries = supervisedEntries(c.p.Entries, jailOwn(o))
		o.Unprotected = c.p.Unprotected
		o.Programs, o.AnyProgram = c.p.Programs, c.p.Programs == nil
		c.holds(policy.AxisFs, "a supervisor in the jail's init, asked by seccomp", "no protected name comes into being, and what the host replaces stays read-only")
		return
	}
	c.unsupervised(missing)
}

// unsupervised names what nobody decides then.
func (c *compiler) unsupervised(missing Feature) {
	where := slices.IndexFunc(c.p.Entries, func(e policy.Entry) bool {
		return e.Rights.Has(policy.Create) && e.Origin != policy.OriginHome
	})
	if where < 0 {
		return
	}
	what := "protected names that do not exist yet, in " + c.p.Entries[where].Path
	if n := len(c.p.Unprotected); n > 0 {
		what += " (" + strings.Join(shorten(c.p.Unprotected, 4), ", ") + ")"
	}
	c.gap(Gap{
		Axis: policy.AxisFs, What: what,
		Why: "the server could make them, since the calls that make names cannot be handed to a supervisor: " + missing.Detail,
		Fix: strings.Join(slices.DeleteFunc([]string{missing.Fix, `grant no create, or accept it for this server with waive = ["fs"] (--waive fs)`}, func(s string) bool { return s == "" }), ", or "),
	})
}

// supervisedEntries are the entries that calls are judged by. The jail's own places
// count as a home: what is made there, nobody else sees.
func supervisedEntries(granted, own []policy.Entry) []policy.Entry {
	at := make(map[string]policy.Entry, len(granted)+len(own))
	for _, e := range granted {
		at[e.Path] = policy.Entry{Path: e.Path, Kind: e.Kind, Rights: e.Rights, Origin: e.Origin}
	}
	for _, e := range own {
		at[e.Path] = policy.Entry{Path: e.Path, Kind: e.Kind, Rights: e.Rights | at[e.Path].Rights, Origin: policy.OriginHome}
	}
	entries := make([]policy.Entry, 0, len(at))
	for _, e := range at {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries
}
