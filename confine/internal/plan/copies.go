package plan

import (
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/statement"
)

// Ephemeral returns the private HOME of which the server gets a copy, or "".
func Ephemeral(p *policy.Profile) string { return ephemeralHome(p).Path }

func ephemeralHome(p *policy.Profile) policy.Entry {
	for _, e := range p.Entries {
		if e.Ephemeral && e.Origin == policy.OriginHome {
			return e
		}
	}
	return policy.Entry{}
}

// Copies returns the directories of which the server gets a copy that is thrown away.
func Copies(p *policy.Profile) (dirs []string) {
	for _, e := range p.Entries {
		if e.Ephemeral && e.Kind == policy.KindDir {
			dirs = append(dirs, e.Path)
		}
	}
	return dirs
}

// canCopy reports whether the server can have a copy of the object of an entry.
func canCopy(p *policy.Profile, f features.Facts, e policy.Entry) features.Feature {
	switch {
	case f.OS != "linux":
		return features.Unavailable("only Linux has overlays", "")
	case f.UserNamespaces.Answer == features.No:
		return features.Unavailable("without namespaces there are no mounts, and so no copy", FixNamespaces)
	case e.Kind != policy.KindDir:
		around, _ := p.Find(path.Dir(e.Path))
		if !around.Ephemeral || around.Origin != policy.OriginRule {
			return features.Unavailable("only a directory can be copied", "")
		}
		e = around
	}
	if known, ok := f.Copies[e.Path]; ok {
		return known
	}
	return f.Overlay
}

// withoutWrites returns the profile without the right to write where a rule gives the server a copy
// and this host cannot make it, and says so for each. p is not changed.
func withoutWrites(p *policy.Profile, f features.Facts) (own *policy.Profile, notes []string) {
	own = p
	for i, e := range p.Entries {
		if !e.Ephemeral || e.Origin == policy.OriginHome {
			continue
		}
		can := canCopy(p, f, e)
		if can.Answer != features.No {
			continue
		}
		if own == p {
			changed := *p
			changed.Entries, own = slices.Clone(p.Entries), &changed
		}
		own.Entries[i].Rights, own.Entries[i].Ephemeral = e.Rights&^policy.Write, false
		notes = append(notes, "the server may not write to "+e.Path+": what it writes there could not be thrown away at the end ("+can.Detail+")")
	}
	if own != p {
		restate(own)
	}
	return own, notes
}

// restate has a changed profile tell the server what holds now.
func restate(p *policy.Profile) {
	p.Env = slices.Clone(p.Env)
	for i, v := range p.Env {
		if v.Name == policy.StatementVar {
			p.Env[i].Value = string(statement.New(p).Encode())
		}
	}
}
