package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Secret is a value that the server uses and never holds: its variable Env has a
// placeholder, for which the launcher puts in the value on the way to the host of
// the rule, and to no other.
type Secret struct {
	Env string // the variable in the jail
	// Where the value comes from: File's content or Command's output, without the
	// line end, else the variable Env of mcp-jail's own environment. In a Profile
	// File is absolute.
	File    string
	Command []string
	Where   string
}

// Placeholder is what the variable of a secret holds in the jail. None is part of
// another one, and none is changed by an escape for URLs, JSON or a shell.
func Placeholder(env string) string { return "mcp-jail-secret-" + env + "-placeholder" }

// CheckSecretValue tells what keeps a value from being the value of a header field, or a
// part of one: with a line break in it, it could end the field and begin another.
// The error names the variable and does not show the value.
func CheckSecretValue(env, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("the secret %s is empty", env)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("the secret %s contains a line break or another control character, so it cannot be sent in a header field", env)
	case strings.TrimSpace(value) != value:
		return fmt.Errorf("the secret %s begins or ends with a space, which is no part of a header field's value", env)
	}
	return nil
}

// Source says in words where the value comes from.
func (s Secret) Source() string {
	switch {
	case s.File != "":
		return "the file " + s.File
	case s.Command != nil:
		return "the output of " + s.Command[0]
	}
	return "the variable " + s.Env
}

// equal compares what is written, not where.
func (s Secret) equal(t Secret) bool {
	return s.Env == t.Env && s.File == t.File && slices.Equal(s.Command, t.Command)
}

func (r NetRule) secretNames() (names []string) {
	for _, s := range r.Secrets {
		names = append(names, s.Env)
	}
	return names
}

// checkSecret validates one secret, as far as this is possible without a disk.
func checkSecret(s Secret) error {
	if strings.Trim(s.Env, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" || s.Env == "" || len(s.Env) > 256 {
		return fmt.Errorf("env = %q: a secret's variable has letters, digits and \"_\" only, at most 256", clip(s.Env))
	}
	if isMinimal(s.Env) || Dangerous(s.Env) || strings.HasPrefix(s.Env, "MCP_JAIL_") {
		return fmt.Errorf("env = %q: no program takes a secret from this variable", clip(s.Env))
	}
	if s.File != "" && s.Command != nil {
		return fmt.Errorf("the secret %s has a file and a command: one of them is its source", s.Env)
	}
	return checkSource(s)
}

// checkSource refuses a source that the server, or who wrote its workspace, could
// choose: the launcher reads it with all of the user's rights.
func checkSource(s Secret) error {
	outside := func(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~/") }
	if s.File != "" {
		if err := checkPath(s.File); err != nil {
			return err
		}
		if !outside(s.File) || strings.ContainsAny(path.Base(s.File), "*?[") {
			return fmt.Errorf("file = %q: write it as an absolute path or with ~/, without wildcards", clip(s.File))
		}
	}
	if s.Command == nil {
		return nil
	}
	if len(s.Command) == 0 || s.Command[0] == "" {
		return fmt.Errorf("the command of the secret %s is empty", s.Env)
	}
	if strings.Contains(s.Command[0], "/") && !outside(s.Command[0]) {
		return fmt.Errorf("command %q: write the program as a name in PATH, as an absolute path or with ~/", clip(s.Command[0]))
	}
	for _, word := range s.Command {
		if strings.ContainsRune(word, 0) {
			return fmt.Errorf("the command of the secret %s contains a NUL", s.Env)
		}
	}
	return nil
}

// secrets lists those of all rules by variable, sorted. Several rules may use one,
// from one source.
func (p *Policy) secrets() (out []Secret, ps Problems) {
	at := map[string]Secret{}
	for _, r := range p.Net {
		for _, s := range r.Secrets {
			first, known := at[s.Env]
			if !known {
				at[s.Env] = s
				continue
			}
			if !s.equal(first) {
				file, line := splitWhere(s.Where)
				ps = append(ps, Problem{file, line, "secret", fmt.Sprintf(
					"the secret %s is %s here and %s at %s: a variable has one source, which every rule repeats", s.Env, s.Source(), first.Source(), first.Where)})
			}
		}
	}
	for _, name := range sortedKeys(at) {
		out = append(out, at[name])
	}
	return out, ps
}

// secrets finds out which secrets this host has, and puts their placeholders into
// the environment: in the place of values too that another rule would forward.
// One that is missing is unset in the jail as it is outside, so that the server
// says what it says without a jail.
func (b *builder) secrets(out *Profile, host map[string]string, env map[string]Variable) error {
	all, _ := b.p.secrets() // validated
	for _, s := range all {
		missing, err := b.source(&s, host)
		if err != nil {
			return err
		}
		rule, forwarded := MatchEnv(b.p.Env, s.Env)
		delete(env, s.Env)
		if missing != "" {
			b.warn("missing-secret", s.Where, "the secret %s is not there: %s %s; the server runs without this variable", s.Env, s.Source(), missing)
			continue
		}
		if forwarded && rule.Name == s.Env {
			b.warn("secret-variable", rule.Where, "the variable %s is a secret (%s): the server gets the placeholder in spite of the rule that forwards it", s.Env, s.Where)
		}
		value := host[s.Env]
		for _, name := range sortedKeys(env) {
			if s.File == "" && s.Command == nil && env[name].Value == value {
				b.warn("secret-copy", env[name].Rule, "the variable %s has the same value as the secret %s, and is forwarded", name, s.Env)
			}
		}
		env[s.Env] = Variable{Name: s.Env, Value: Placeholder(s.Env), Rule: strings.TrimPrefix(s.Where+": secret", ": ")}
		out.Secrets = append(out.Secrets, s)
	}
	return nil
}

// source completes the path of a secret's file, and says what keeps the source
// from being read as far as a look at it tells. That a file is chosen by the
// server is an error: the launcher would send any file of the user's.
func (b *builder) source(s *Secret, host map[string]string) (missing string, err error) {
	switch {
	case s.Command != nil:
		return "", nil
	case s.File == "" && host[s.Env] == "":
		return "is not set", nil
	case s.File == "":
		return "", nil
	}
	s.File, _ = b.expand(s.File, "")
	at, err := b.f.find(s.File)
	if err != nil {
		return err.Error(), nil
	}
	for _, l := range at.links {
		if e, ok := b.find(path.Dir(l.Path)); ok && e.Rights&(Create|Delete) != 0 {
			return "", &RuleError{s.Where + ": secret", fmt.Sprintf("the file %s leads through the symbolic link %s (-> %s), which the server could replace (%s): write the path that is meant, %s", s.File, l.Path, l.Target, e.Rule, at.path)}
		}
	}
	if e, ok := b.find(at.path); ok && at.exists() && e.Rights&Write != 0 {
		return "", &RuleError{s.Where + ": secret", fmt.Sprintf("the server could write the file %s (%s)", s.File, e.Rule)}
	}
	switch {
	case at.reason != "":
		return "cannot be reached (" + at.reason + ")", nil
	case !at.exists():
		return "does not exist", nil
	case at.info.Mode.IsDir():
		return "is a directory", nil
	}
	return "", nil
}

// secretFiles are those of all secrets: sensitive paths, whatever else a rule grants.
func (p *Policy) secretFiles() (files []string) {
	all, _ := p.secrets()
	for _, s := range all {
		if s.File != "" {
			files = append(files, s.File)
		}
	}
	return files
}
