package resolve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// secrets find the secrets of a policy, and refuse those that a server could choose.
type secrets struct {
	*facts
	writers *writers
}

// resolveSecrets finds out which secrets this host has, and puts their placeholders into
// the environment, also in place of values that another rule would forward. A missing
// secret is unset in the jail as it is outside, so that the server reports it as it does
// without a jail.
func (b *secrets) resolveSecrets(out *policy.Profile, host map[string]string, env map[string]policy.Variable) error {
	all, _ := b.p.AllSecrets() // validated
	for _, s := range all {
		missing, err := b.resolveSource(&s, host)
		if err != nil {
			return err
		}
		rule, forwarded := policy.MatchEnv(b.p.Env, s.Env)
		delete(env, s.Env)
		if missing != "" {
			b.warnings.warn("missing-secret", s.Where, "the secret %s is missing: %s %s; the server runs without this variable", s.Env, s.Source(), missing)
			continue
		}
		if forwarded && rule.Name == s.Env {
			b.warnings.warn("secret-variable", rule.Where, "the variable %s is a secret (%s): the server gets the placeholder in spite of the rule that forwards it", s.Env, s.Where)
		}
		value := host[s.Env]
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if s.File == "" && s.Command == nil && env[name].Value == value {
				b.warnings.warn("secret-copy", env[name].Rule, "the variable %s has the same value as the secret %s, and is forwarded", name, s.Env)
			}
		}
		env[s.Env] = policy.Variable{Name: s.Env, Value: policy.Placeholder(s.Env), Rule: strings.TrimPrefix(s.Where+": secret", ": ")}
		out.Secrets = append(out.Secrets, s)
	}
	return nil
}

// resolveSource completes the path of a secret's file, and returns what keeps the source
// from being read. A file that a server could choose or write is an error: mcp-jail would send
// any file of the user.
func (b *secrets) resolveSource(s *policy.Secret, host map[string]string) (missing string, err error) {
	switch {
	case s.Command != nil:
		return "", b.resolveSecretCommand(s)
	case s.File == "" && host[s.Env] == "":
		return "is not set", nil
	case s.File == "":
		return "", nil
	}
	s.File, _ = b.places.Expand(s.File, "")
	at, err := b.paths.Resolve(s.File)
	if err != nil {
		return err.Error(), nil
	}
	if l, w, ok := b.writers.writableLink(at.Links); ok {
		return "", &RuleError{s.Where + ": secret", fmt.Sprintf("the file %s leads through the symbolic link %s (-> %s), which %s could replace (%s): if that link is yours, write the path that is meant, %s; if not, remove it", s.File, l.Path, l.Target, w.Name, w.Rule, at.Path)}
	}
	if w, ok := b.writers.writerOf(at.Path, policy.Write); ok && at.Exists() {
		return "", &RuleError{s.Where + ": secret", fmt.Sprintf("%s could write the file %s (%s): keep it where no server may write", w.Name, s.File, w.Rule)}
	}
	s.File = at.Path // no link leads another way when it is read
	switch {
	case at.Reason != "":
		return "cannot be reached (" + at.Reason + ")", nil
	case !at.Exists():
		return "does not exist", nil
	case at.Info.Mode.IsDir():
		return "is a directory", nil
	}
	return "", nil
}

// siblingSecret returns the place of the secret, of another process of the server, whose source
// is this variable, or "". Only a rule that names such a variable forwards its value.
func siblingSecret(of *policy.Policy, env string) string {
	for _, p := range of.Others {
		for _, r := range p.Net {
			for _, s := range r.Secrets {
				if p.Server == of.Server && s.Env == env && s.File == "" && s.Command == nil {
					return s.Where
				}
			}
		}
	}
	return ""
}
