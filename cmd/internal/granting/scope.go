package granting

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Scope is the policy of a server on this host.
type Scope struct {
	Flags []Flag // of its command line; nil for a server of a configuration

	policy *policy.Policy
	host   hostfs.Host
	placed []resolve.PlacedRule
}

// NewScope returns the scope of a policy. The host has the directory in which the server starts.
func NewScope(p *policy.Policy, host hostfs.Host, flags []Flag) *Scope {
	s := &Scope{Flags: flags, policy: p, host: host}
	if p != nil {
		s.placed, _, _ = resolve.CheckFiles(p, host)
	}
	return s
}

// Grants returns the rule by which the scope grants a flag already, or "".
func (s *Scope) Grants(f Flag) (by string) {
	if i := slices.IndexFunc(s.Flags, func(o Flag) bool { return s.same(o, f) }); i >= 0 {
		return s.Flags[i].String()
	}
	if s.policy == nil {
		return ""
	}
	switch f.Name {
	case "--read", "--write", "--execute":
		return s.grantsPath(f)
	case "--net":
		return s.grantsHost(f)
	case "--env":
		if rule, ok := policy.MatchEnv(s.policy.Env, f.Value); ok {
			return rule.Where
		}
	case "--limit":
		if old, ok := Replaced(s.Flags, f); ok && old.atLeast(f) {
			return old.String()
		}
	}
	return ""
}

// rights are those that a flag grants.
func (f Flag) rights() policy.Rights {
	switch f.Name {
	case "--write":
		return policy.Read | policy.Write
	case "--execute":
		return policy.Read | policy.Execute
	}
	return policy.Read
}

func (s *Scope) grantsPath(f Flag) string {
	path := real(s.clean(f.Value))
	rule, ok := s.deciding(path)
	switch {
	case !ok || !rule.Rights().Has(f.rights()):
		return ""
	// What is hidden or protected in a grant, only a rule that names it grants.
	case !hostfs.Within(s.host.OS, rule.At, path) && (resolve.Sensitive(&s.host, s.policy, path) != "" || f.Name == "--write" && (hostfs.HasProtectedName(s.host.OS, path) || resolve.Guarded(&s.host, path, true) != "")):
		return ""
	}
	return rule.Where
}

// IsStateful reports whether one process has the policy for all tools.
func (s *Scope) IsStateful() bool { return s.policy != nil && s.policy.Stateful }

// HasWorkspace reports whether the scope is the default policy, and grants the workspace. That policy
// grants no home directory, and nothing around one.
func (s *Scope) HasWorkspace() bool {
	rule, ok := s.deciding(real(s.clean(".")))
	return s.policy != nil && s.policy.Default && ok && rule.Rights().Has(policy.Read)
}

// Guards returns why no text of a server leads to a grant of a flag by itself, or "". never says that
// it leads to none at all.
func (s *Scope) Guards(f Flag) (why string, never bool) {
	if !f.IsPath() {
		return "", false
	}
	path := real(s.clean(f.Value))
	if place := resolve.Guarded(&s.host, path, f.Name == "--write"); place != "" {
		return "it gives a hold on " + place + ", which decides what a jail grants, or what runs outside of it", true
	}
	if place := resolve.Sensitive(&s.host, s.policy, path); place != "" {
		return "it is a sensitive path (" + place + ")", false
	}
	if f.Name == "--write" && hostfs.HasProtectedName(s.host.OS, path) {
		return "it is a protected name: programs outside of the jail run or trust what is written there", false
	}
	return "", false
}

// Writes reports whether the scope lets a server write to a path, by a rule around it.
func (s *Scope) Writes(path string) bool {
	rule, ok := s.deciding(real(s.clean(path)))
	return ok && rule.Rights().Has(policy.Write)
}

func (s *Scope) deciding(path string) (rule resolve.PlacedRule, ok bool) {
	for _, r := range s.placed {
		if hostfs.Within(s.host.OS, path, r.At) && (!ok || len(r.At) >= len(rule.At)) {
			rule, ok = r, true
		}
	}
	return rule, ok
}

func (s *Scope) grantsHost(f Flag) (by string) {
	host, port, err := policy.ParseHostPort(f.Value)
	if err != nil {
		return ""
	}
	for _, port := range (policy.NetRule{Host: host, Port: port, Allow: true}).Ports() {
		rule, ok := policy.MatchNet(s.policy.Net, host, "", port, "", "")
		if !ok {
			return ""
		}
		by = rule.Where
	}
	return by
}

// clean returns a path of a flag as an absolute one.
func (s *Scope) clean(path string) string {
	dir := s.host.Dir
	if s.policy != nil && s.policy.Workspace != "" {
		dir = Person{s.host.OS, s.host.Home, dir}.Whole(s.policy.Workspace)
	}
	return Person{s.host.OS, s.host.Home, dir}.Whole(path)
}

// real returns the path without symbolic links, as far as it exists.
func real(path string) string {
	if at, err := filepath.EvalSymlinks(path); err == nil {
		return at
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(real(dir), filepath.Base(path))
}
