package change

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Gained returns rights at a path without those to write if a policy gives them there already. Those at a protected name
// stay.
func Gained(p *policy.Profile, path string, rights policy.Rights) policy.Rights {
	if rights&^p.RightsAt(path)&policy.Write == 0 && !IsReserved(p, path) {
		rights &^= policy.Write
	}
	return rights
}

// IsReserved reports whether a path is a protected name that does not exist yet, or leads to one.
func IsReserved(p *policy.Profile, path string) bool {
	return p.Protects(policy.OpCreate, path) || slices.ContainsFunc(p.Unprotected, func(u string) bool { return policy.Within(path, u) })
}

// ReasonsIn returns what the policy of a server says against rights at a path without links. To connect to a socket is the
// right to update alone.
func ReasonsIn(p *policy.Profile, path string, rights policy.Rights) (all []policy.Reason) {
	add := func(is bool, kind policy.ReasonKind, names ...string) {
		if is {
			all = append(all, policy.Reason{Kind: kind, Names: names})
		}
	}
	for _, e := range p.Entries {
		refuses := policy.Within(path, e.Path) && (e.Rights == 0 || rights&policy.Write != 0)
		add(refuses && isDenial(e), policy.WhyDenied, e.Rule)
	}
	if rights&policy.Write == 0 || rights == policy.Update {
		return all
	}
	e, _ := p.Find(path)
	isPackage := slices.ContainsFunc(p.Parts, func(part policy.Part) bool { return part.Work && policy.Within(path, part.Path) })
	isGit := filepath.Base(path) == ".git" && !p.InGitInternals(path) // the protected names in it stay protected
	add(!isGit && (e.Origin == policy.OriginProtected || p.InGitInternals(path) || p.HasProtectedName(path)), policy.WhyProtected)
	add(IsProgram(p, path), policy.WhyOwnProgram)
	add(e.Origin == policy.OriginBaseline && e.Rights.Has(policy.Execute) && !isPackage, policy.WhyOfSystem)
	if place := ProgramIn(p, path); place != "" && !IsProgram(p, path) {
		add(true, policy.WhyOwnProgram, place)
	}
	return all
}

// ReasonsOf returns what speaks against a change under every policy: no flag makes it, or no line of a shell or a
// client would hold it as it is. A server with a process for each call gets nothing of it for the one that lists the tools.
func ReasonsOf(w Want, perCall bool) (all []policy.Reason) {
	words := w.Object.Words()
	isLost := func(word string) bool { return show.Line(word) != word || show.Expands(word) }
	if len(words) == 0 || w.Tool == "*" || slices.ContainsFunc(words, isLost) { // "*" would be all tools without a table
		all = append(all, policy.Reason{Kind: policy.WhyNoRule})
	}
	if perCall && w.Tool == "" && w.Object.Setting.Key != StartupTimeout && w.Object.Setting.Key != "workspace" {
		all = append(all, policy.Reason{Kind: policy.WhyListing})
	}
	return all
}

// StartupTimeout is the key of the time that a server has to start.
const StartupTimeout = "startup_timeout_secs"

// isDenial reports whether an entry is that of a rule with deny, or of a flag --deny.
func isDenial(e policy.Entry) bool {
	return e.Origin == policy.OriginRule && (strings.HasPrefix(e.Rule, "--deny ") || strings.Contains(e.Rule, ", deny = "))
}

// IsProgram reports whether a server is started from a file.
func IsProgram(p *policy.Profile, path string) bool {
	if path == p.Program || slices.Contains(p.Programs, path) || slices.Contains(p.Loaders, path) {
		return true
	}
	return slices.ContainsFunc(p.Parts, func(part policy.Part) bool {
		return !part.Work && (path == part.Path || !inWorkspace(p, path) && policy.Within(path, part.Path))
	})
}

// ProgramIn returns what a server is started from in a directory, or "". In the workspace it may be changed.
func ProgramIn(p *policy.Profile, dir string) string {
	if inWorkspace(p, dir) {
		return ""
	}
	for _, path := range append([]string{p.Program}, partsOf(p)...) {
		if path != "" && policy.Within(path, dir) {
			return path
		}
	}
	return ""
}

func partsOf(p *policy.Profile) (paths []string) {
	for _, part := range p.Parts {
		paths = append(paths, part.Path)
	}
	return paths
}

func inWorkspace(p *policy.Profile, path string) bool {
	return p.Workspace != "" && policy.Within(path, p.Workspace)
}
