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

// Copies returns the directories and files of which the server gets a copy that is thrown away. A file in
// such a directory is among them, because the directory may turn out to have no copy.
func Copies(p *policy.Profile) []string {
	return append(copiedDirs(p), copiedFiles(p, func(policy.Entry) bool { return true })...)
}

func copiedDirs(p *policy.Profile) (dirs []string) {
	for _, e := range p.Entries {
		if e.Ephemeral && e.Kind == policy.KindDir {
			dirs = append(dirs, e.Path)
		}
	}
	return dirs
}

func copiedFiles(p *policy.Profile, which func(policy.Entry) bool) (files []string) {
	for _, e := range p.Entries {
		if e.Ephemeral && e.Kind == policy.KindFile && which(e) {
			files = append(files, e.Path)
		}
	}
	return files
}

// isAlone reports whether the directory around a file is no copy.
func isAlone(p *policy.Profile, e policy.Entry) bool {
	around, _ := p.Find(path.Dir(e.Path))
	return !around.Ephemeral
}

// canCopy reports whether the server can have a copy of the object of an entry.
func canCopy(p *policy.Profile, f features.Facts, e policy.Entry) features.Feature {
	switch {
	case f.OS != "linux":
		return features.Unavailable("only Linux has overlays", "")
	case f.UserNamespaces.Answer == features.No:
		return features.Unavailable("without namespaces there are no mounts, and so no copy", FixNamespaces)
	case e.Kind != policy.KindDir && e.Kind != policy.KindFile:
		return features.Unavailable("only a directory or a regular file can be copied", "")
	case e.Kind == policy.KindFile && !isAlone(p, e):
		around, _ := p.Find(path.Dir(e.Path))
		if can := canCopy(p, f, around); can.Answer != features.No {
			return can // the file is in the copy of the directory
		}
	}
	if known, ok := f.Copies[e.Path]; ok {
		return known
	}
	if e.Kind == policy.KindFile {
		return features.Available("")
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
