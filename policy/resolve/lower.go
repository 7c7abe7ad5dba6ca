package resolve

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/command"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// A lowerRule is a rule of the layers below a project's file with the path that it leads to.
type lowerRule struct {
	rule policy.FsRule
	at   hostfs.ResolvedPath
}

// lowerLayers are what the layers below a project's file say of the files that it grants.
type lowerLayers struct {
	*facts
	rules []lowerRule     // see collectLower
	held  []policy.FsRule // see isHeld
}

func (b *lowerLayers) collectLower() error {
	l := b.p.Lower
	if l == nil {
		return nil
	}
	b.warnings.list = append(b.warnings.list, l.Refused...)
	for _, r := range l.Fs {
		if r.Base == "" && !strings.HasPrefix(r.Path, "/") && !strings.HasPrefix(r.Path, "~") {
			r.Base = cmp.Or(l.Workspace, ".")
		}
		abs, _ := b.places.ExpandRule(r, "/")
		at, err := b.paths.Resolve(abs)
		if err != nil {
			return &RuleError{r.Label(), err.Error()}
		}
		b.rules = append(b.rules, lowerRule{r, at})
	}
	return nil
}

func (b *lowerLayers) lowerRuleAt(p string) (lowerRule, bool) {
	for ; ; p = path.Dir(p) {
		for i := len(b.rules) - 1; i >= 0; i-- {
			if b.places.IsSame(b.rules[i].at.Path, p) {
				return b.rules[i], true
			}
		}
		if p == path.Dir(p) {
			return lowerRule{}, false
		}
	}
}

// refusedBelow returns what the layers below a project's file say against a grant at a canonical
// path, and where; ok is false if they do not refuse it.
func (b *lowerLayers) refusedBelow(p string) (refusal, where string, ok bool) {
	if b.p.Lower == nil {
		return "", "", false
	}
	for _, l := range b.rules {
		if l.rule.Deny == policy.AllRights && policy.Within(p, l.at.Path) {
			return "path = " + show.TOML(l.rule.Path), l.rule.Where, true
		}
	}
	decides, found := b.lowerRuleAt(p)
	// A sensitive path holds unless a rule of these layers names it, or something in it.
	for at := p; at != path.Dir(at); at = path.Dir(at) {
		if found && policy.Within(decides.at.Path, at) {
			break // the layers below name it, or something inside
		}
		if held, ok := b.heldSensitive(at); ok {
			return "sensitive_paths has " + show.TOML(held.Path), held.Where, true
		}
	}
	return "", "", false
}

func (b *lowerLayers) heldSensitive(p string) (policy.SensitivePath, bool) {
	for _, held := range b.p.Lower.Sensitive {
		if rest, ok := strings.CutPrefix(held.Path, "**/"); ok {
			if (places.Pattern{Parts: strings.Split(rest, "/")}).Matches(path.Dir(p), path.Base(p)) {
				return held, true
			}
			continue
		}
		for _, base := range []string{b.places.WorkspaceOrDir(), b.places.LowerBase()} {
			abs, _ := b.places.Expand(held.Path, b.paths.Canonical(base))
			s := places.SensitivePath{Written: held.Path, Abs: abs}
			if dir, name, ok := s.Pattern(); ok && b.paths.Canonical(dir) == path.Dir(p) && places.MatchName(name, path.Base(p)) || !ok && b.places.IsSame(b.paths.Canonical(abs), p) {
				return held, true
			}
		}
	}
	return policy.SensitivePath{}, false
}

func (b *lowerLayers) isHeld(r policy.FsRule, canonical string) bool {
	l := b.p.Lower
	if r.Rights() == 0 || l == nil {
		return false
	}
	moved := l.Workspace != b.p.Workspace && !strings.HasPrefix(r.Path, "/") && !strings.HasPrefix(r.Path, "~")
	if l.Has(r) && !moved {
		return false
	}
	refusal, where, ok := b.refusedBelow(canonical)
	if ok {
		what := "path = " + show.TOML(r.Path)
		if r.Where == policy.DefaultSource {
			what = "the workspace of " + r.Where
		}
		b.warnings.list = append(b.warnings.list, policy.RefusedBelow(what, r.Where, refusal, where))
		b.held = append(b.held, r)
	}
	return ok
}

// WithoutRefused returns a policy without the rules for files that do not count, because the layers
// below a project's file refuse what they grant. If the rules cannot be resolved, it returns p.
func WithoutRefused(p *policy.Policy, host hostfs.Host) *policy.Policy {
	b := newResolver(p, &host)
	if err := b.placeFiles(); err != nil || b.lower.held == nil {
		return p
	}
	out := *p
	out.Fs = slices.DeleteFunc(slices.Clone(p.Fs), func(r policy.FsRule) bool { return slices.Contains(b.lower.held, r) })
	return &out
}

// RulePaths returns the canonical path that each rule for files of a policy leads to. Slashes are between its names,
// and equal names are equal texts, also on Windows.
func RulePaths(p *policy.Policy, host hostfs.Host) (paths []string) {
	b := newResolver(p, &host)
	workspace, _ := b.resolveWorkspace()
	for _, r := range p.Fs {
		abs, _ := b.places.ExpandRule(r, cmp.Or(workspace, "/"))
		paths = append(paths, places.Folded(b.h, b.paths.Canonical(abs)))
	}
	return paths
}

// checkHeld returns an error if the program of a project's server lies where the layers below refuse.
// The jail shows a program to itself, so it would have what they refuse.
func (b *lowerLayers) checkHeld(c *command.Resolver, out *policy.Profile) error {
	if b.p.Lower == nil || !b.p.Lower.Own {
		return nil
	}
	own := b.paths.Canonical(b.h.DataDir) // has the installed packages
	needs := []string{out.Program}
	for _, n := range c.Dependencies {
		needs = append(needs, n.Path)
	}
	for _, p := range needs {
		if p = b.paths.Canonical(p); b.h.DataDir != "" && policy.Within(p, own) {
			continue
		}
		if refusal, where, ok := b.refusedBelow(p); ok {
			return &RuleError{where, "refuses " + p + " (" + refusal + "), which the program of this project's server needs; only that file can allow it"}
		}
	}
	return nil
}
