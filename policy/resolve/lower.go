package resolve

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A lowerRule is a rule of the layers below a project's file with the path that it leads to.
type lowerRule struct {
	rule policy.FsRule
	at   hostfs.ResolvedPath
}

// collectLower follows the paths of the layers below a project's file.
func (b *resolver) collectLower() error {
	l := b.p.Lower
	if l == nil {
		return nil
	}
	b.warnings = append(b.warnings, l.Refused...)
	for _, r := range l.Fs {
		if r.Base == "" && !strings.HasPrefix(r.Path, "/") && !strings.HasPrefix(r.Path, "~") {
			r.Base = cmp.Or(l.Workspace, ".")
		}
		abs, _ := b.expandRule(r, "/")
		at, err := b.paths.Resolve(abs)
		if err != nil {
			return &RuleError{r.Label(), err.Error()}
		}
		b.lower = append(b.lower, lowerRule{r, at})
	}
	return nil
}

// lowerBase returns the directory to which the relative paths of the layers below belong.
func (b *resolver) lowerBase() string {
	abs, _ := b.expand(cmp.Or(b.p.Lower.Workspace, "."), b.h.Dir)
	return abs
}

// lowerSensitive returns the sensitive paths of the layers below that are relative to another
// workspace than that of the server.
func (b *resolver) lowerSensitive() (all []sensitivePath) {
	if b.p.Lower == nil {
		return nil
	}
	for _, s := range b.p.Lower.Sensitive {
		abs, relative := b.expand(s.Path, b.canonical(b.lowerBase()))
		if relative && !strings.HasPrefix(s.Path, "**/") && b.lowerBase() != b.workspaceOrDir() {
			all = append(all, sensitivePath{written: s.Path, abs: abs})
		}
	}
	return all
}

// expandRule makes the path of a rule absolute. relative reports that it belongs to the workspace of
// the server.
func (b *resolver) expandRule(r policy.FsRule, workspace string) (abs string, relative bool) {
	if r.Base == "" {
		return b.expand(r.Path, workspace)
	}
	base, _ := b.expand(r.Base, b.h.Dir)
	abs, _ = b.expand(r.Path, base)
	return abs, false
}

// isSame reports whether two canonical paths lead to one object.
func (b *resolver) isSame(p, q string) bool {
	if p == q {
		return true
	}
	x, y := b.paths.Lstat(p), b.paths.Lstat(q)
	return x.Err == nil && y.Err == nil && x.Info.ID != (policy.FileID{}) && x.Info.ID == y.Info.ID
}

// lowerRuleAt returns the rule of the layers below that decides about a canonical path.
func (b *resolver) lowerRuleAt(p string) (lowerRule, bool) {
	for ; ; p = path.Dir(p) {
		for i := len(b.lower) - 1; i >= 0; i-- {
			if b.isSame(b.lower[i].at.Path, p) {
				return b.lower[i], true
			}
		}
		if p == "/" {
			return lowerRule{}, false
		}
	}
}

// refusedBelow returns what the layers below a project's file say against a grant at a canonical
// path, and where; ok is false if they do not refuse it.
func (b *resolver) refusedBelow(p string) (refusal, where string, ok bool) {
	if b.p.Lower == nil {
		return "", "", false
	}
	decides, found := b.lowerRuleAt(p)
	if found && decides.rule.Rights() == 0 {
		return "path = " + show.TOML(decides.rule.Path), decides.rule.Where, true
	}
	for at := p; at != "/"; at = path.Dir(at) {
		if found && policy.Within(decides.at.Path, at) {
			break // the layers below name it, or something inside
		}
		if held, ok := b.heldSensitive(at); ok {
			return "sensitive_paths has " + show.TOML(held.Path), held.Where, true
		}
	}
	return "", "", false
}

// heldSensitive returns the sensitive path of the layers below that a canonical path is.
func (b *resolver) heldSensitive(p string) (policy.SensitivePath, bool) {
	for _, held := range b.p.Lower.Sensitive {
		if rest, ok := strings.CutPrefix(held.Path, "**/"); ok {
			if (pattern{parts: strings.Split(rest, "/")}).matches(path.Dir(p), path.Base(p)) {
				return held, true
			}
			continue
		}
		for _, base := range []string{b.workspaceOrDir(), b.lowerBase()} {
			abs, _ := b.expand(held.Path, b.canonical(base))
			s := sensitivePath{written: held.Path, abs: abs}
			if dir, name, ok := s.pattern(); ok && b.canonical(dir) == path.Dir(p) && matchName(name, path.Base(p)) || !ok && b.isSame(b.canonical(abs), p) {
				return held, true
			}
		}
	}
	return policy.SensitivePath{}, false
}

// isHeld reports whether a rule grants what the layers below refuse, and warns of it.
func (b *resolver) isHeld(r policy.FsRule, canonical string) bool {
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
		b.warnings = append(b.warnings, policy.RefusedBelow(what, r.Where, refusal, where))
		b.held = append(b.held, r)
	}
	return ok
}

// WithoutRefused returns a policy without the rules for files that do not count, because the layers
// below a project's file refuse what they grant. If the rules cannot be resolved, it returns p.
func WithoutRefused(p *policy.Policy, host hostfs.Host) *policy.Policy {
	b := newResolver(p, &host)
	b.collectGuarded()
	b.collectDeciding()
	workspace, err := b.resolveWorkspace()
	if err == nil {
		b.collectWriters(&policy.Profile{})
		err = b.placeRules(workspace)
	}
	if err != nil || b.held == nil {
		return p
	}
	out := *p
	out.Fs = slices.DeleteFunc(slices.Clone(p.Fs), func(r policy.FsRule) bool { return slices.Contains(b.held, r) })
	return &out
}

// RulePaths returns the canonical path that each rule for files of a policy leads to.
func RulePaths(p *policy.Policy, host hostfs.Host) (paths []string) {
	b := newResolver(p, &host)
	workspace, _ := b.resolveWorkspace()
	for _, r := range p.Fs {
		abs, _ := b.expandRule(r, cmp.Or(workspace, "/"))
		paths = append(paths, b.canonical(abs))
	}
	return paths
}

// checkHeld returns an error if the program of a project's server lies where the layers below refuse.
// The jail shows a program to itself, so it would have what they refuse.
func (b *resolver) checkHeld(c *commandResolver, out *policy.Profile) error {
	if b.p.Lower == nil || !b.p.Lower.Own {
		return nil
	}
	own := b.canonical(b.h.DataDir) // has the installed packages
	needs := []string{out.Program}
	for _, n := range c.dependencies {
		needs = append(needs, n.path)
	}
	for _, p := range needs {
		if p = b.canonical(p); b.h.DataDir != "" && policy.Within(p, own) {
			continue
		}
		if refusal, where, ok := b.refusedBelow(p); ok {
			return &RuleError{where, "refuses " + p + " (" + refusal + "), which the program of this project's server needs; only that file can allow it"}
		}
	}
	return nil
}
