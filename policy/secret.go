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
	// Header are the fields of a request in which it is put in; nil: CredentialFields.
	Header []string
	Where  string

	// In a Profile, of a Command: its file, "" where there is none, the PATH that it gets,
	// and the variables that it does not get.
	Program string   `json:",omitempty"`
	Path    string   `json:",omitempty"`
	Unset   []string `json:",omitempty"`
}

// CredentialFields are the header fields that carry credentials and nothing else, where a
// secret says nothing of its own. Cookie is not among them, nor any that is meant to come
// back in an answer.
var CredentialFields = []string{
	"Authorization", "Api-Key", "Apikey", "Private-Token", "Job-Token", "X-Access-Token", "X-Algolia-Api-Key", "X-Api-Key", "X-Api-Token", "X-Apikey",
	"X-Auth-Key", "X-Auth-Token", "X-Figma-Token", "X-Goog-Api-Key", "X-Rapidapi-Key", "X-Shopify-Access-Token", "X-Subscription-Token", "X-Token", "X-Vault-Token",
	"Xi-Api-Key", "Dd-Api-Key", "Dd-Application-Key", "Ocp-Apim-Subscription-Key",
}

// Fields are the header fields in which the value may stand.
func (s Secret) Fields() []string {
	if s.Header == nil {
		return CredentialFields
	}
	return s.Header
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
	for _, name := range s.Header {
		if err := checkField(name); err != nil {
			return err
		}
	}
	if s.Header != nil && len(s.Header) == 0 {
		return fmt.Errorf("header is empty: leave it out for the usual fields")
	}
	return checkSource(s)
}

// checkField validates the name of a header field for a secret: a token (RFC 9110,
// 5.6.2), and none that says where a request goes or how long it is.
func checkField(name string) error {
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"
	if name == "" || len(name) > 128 || strings.Trim(name, token) != "" {
		return fmt.Errorf("header = %q: write the name of a header field, as \"Authorization\"", clip(name))
	}
	switch lower := strings.ToLower(name); {
	case slices.Contains([]string{"host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "keep-alive", "destination"}, lower), strings.HasPrefix(lower, "proxy-"), TellsHost(name):
		return fmt.Errorf("header = %q: this field says where a request goes or where it ends, so no secret stands in it", clip(name))
	}
	return nil
}

// TellsHost reports whether a header field names, to some servers, another host or URL
// than the request is for. What they make of that (a link, a redirection, a request of
// their own) could carry a credential there.
func TellsHost(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return name == "forwarded" || strings.HasPrefix(name, "x-forwarded-") || slices.Contains(hostFields, name)
}

var hostFields = []string{
	"x-host", "x-original-host", "x-http-host", "x-http-host-override", "x-host-override", "x-rewrite-host", "x-backend-host", "x-proxy-host", "x-server-name",
	"x-original-url", "x-rewrite-url", "x-override-url", "x-proxy-url", "x-original-uri", "x-rewrite-uri", "x-base-url", "x-real-host", "proxy-host", "x-url-scheme", "x-scheme", "front-end-https",
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

// allSecrets lists those of all rules by variable, sorted. Several rules may use one,
// from one source.
func (p *Policy) allSecrets() (out []Secret, ps Problems) {
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
	all, _ := b.p.allSecrets() // validated
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
		return "", b.command(s)
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
	if l, w, ok := b.replaceable(at.links); ok {
		return "", &RuleError{s.Where + ": secret", fmt.Sprintf("the file %s leads through the symbolic link %s (-> %s), which %s could replace (%s): if that link is yours, write the path that is meant, %s; if not, remove it", s.File, l.Path, l.Target, w.Who, w.Rule, at.path)}
	}
	if w, ok := b.writer(at.path, Write); ok && at.exists() {
		return "", &RuleError{s.Where + ": secret", fmt.Sprintf("%s could write the file %s (%s): keep it where no server may write", w.Who, s.File, w.Rule)}
	}
	s.File = at.path // no link leads another way when it is read
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

// secretBeside tells where a variable is the source of a secret of another process of the
// server, "" where it is none. No rule but one that names it forwards the value.
func (b *builder) secretBeside(env string) string {
	for _, p := range b.p.others {
		for _, r := range p.Net {
			for _, s := range r.Secrets {
				if p.Server == b.p.Server && s.Env == env && s.File == "" && s.Command == nil {
					return s.Where
				}
			}
		}
	}
	return ""
}

// secretFiles are those of all secrets, those of others too: sensitive paths, whatever
// else a rule grants.
func (p *Policy) secretFiles() (files []string) {
	for _, p := range append([]*Policy{p}, p.others...) {
		for _, r := range p.Net {
			for _, s := range r.Secrets {
				if s.File != "" && !slices.Contains(files, s.File) {
					files = append(files, s.File)
				}
			}
		}
	}
	return files
}
