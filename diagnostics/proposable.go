package diagnostics

import (
	"errors"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// proposable removes the grant of a finding that must not be proposed to the user, and gives the
// reason instead. Every finding passes it before its grant is written down.
//
// Invariant: no proposed grant shows a secret, gives the server a hold on what mcp-jail believes,
// or keeps the server from starting.
func (a *analyzer) proposable(f finding) finding {
	if f.grant.isZero() {
		return f
	}
	f.grant = a.enforceable(f.grant)
	why := ""
	switch place := a.guarded(f.grant); {
	case a.revealsSecret(f.grant):
		f.fix, why = "", "the name contains the value of a secret variable, which is not shown: grant the directory or domain around it"
	case place != "":
		why = "no line is proposed for it: " + place
	default:
		err := a.try([]grant{f.grant})
		if f.inTable = errors.Is(err, ErrTable); err != nil && !f.inTable {
			why = "no line is proposed for it, because the server would not start with it: " + show.Line(a.ev.Redactor.Redact(err.Error()))
		}
	}
	if why == "" {
		return f
	}
	return withheld(f, why)
}

// ranked ranks candidates, and withholds the grants that must not be proposed. It looks only at the
// few that remain, because that costs the time of a start for each.
func (a *analyzer) ranked(all candidates, own int) candidates {
	all = all.ranked(own)
	for i := range all {
		all[i].finding = a.proposable(all[i].finding)
	}
	return all
}

// withheld returns a finding without its grant. fix is what the user is told instead.
func withheld(f finding, fix string) finding {
	f.grant, f.hint.Warning, f.fix = grant{}, "", fix
	return f
}

// guarded says what a grant gives a hold on, or "".
func (a *analyzer) guarded(n grant) string {
	if n.path == "" || a.ev.Guarded == nil {
		return ""
	}
	for _, path := range []string{n.path, a.canonical(n.path), n.with} {
		if path == "" {
			continue
		}
		place := a.ev.Guarded(path, n.rights&policy.Write != 0)
		if place == "" {
			continue
		}
		said := a.show(path)
		if shown := a.show(place); shown != said {
			said += " gives a hold on " + shown + ", which"
		}
		return said + " decides what a jail grants, or what runs outside of it"
	}
	return ""
}

// try returns why the server would not start with grants: see Evidence.Try.
func (a *analyzer) try(grants []grant) error {
	if a.ev.Try == nil || a.ev.Profile == nil {
		return nil
	}
	grants = slices.DeleteFunc(slices.Clone(grants), a.writer.isReplacement) // not pasted beside the table
	flags, _ := a.writer.flagWords(grants)
	lines := a.writer.toml(grants)
	if len(flags)+len(lines) == 0 {
		return nil
	}
	return a.ev.Try(a.writer.tool, lines, flags)
}

// enforceable adds the rights to a grant without which no jail could be built: below a wider grant, a
// mount takes away all of create, update and delete or none, and never read alone. See
// [policy.ConflictError].
func (a *analyzer) enforceable(n grant) grant {
	if n.path == "" || n.rights == 0 {
		return n
	}
	for _, e := range a.around(n.path) {
		n.rights |= e.Rights & policy.Read
		if n.rights&policy.Write != 0 {
			n.rights |= e.Rights & policy.Write
		}
	}
	return n
}

// around returns the entries of the directories around a path.
func (a *analyzer) around(path string) []policy.Entry {
	return slices.DeleteFunc(slices.Clone(a.profile.Entries), func(e policy.Entry) bool { return e.Path == path || !policy.Within(path, e.Path) })
}
