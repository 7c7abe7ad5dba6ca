package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Secret is a value that the server uses but never holds. The variable Env contains a
// placeholder in the jail. In requests to the host of the rule, and to no other host, mcp-jail
// replaces the placeholder by the value.
type Secret struct {
	Env string // the variable in the jail
	// Where the value comes from: File's content or Command's output, without the
	// line end, else the variable Env of mcp-jail's own environment. In a Profile
	// File is absolute.
	File    string
	Command []string
	// Header are the header fields in which the placeholder is replaced; nil: CredentialFields.
	Header []string
	Where  string

	// For a Command in a Profile: the program's file, "" if it was not found; the PATH that
	// it gets; and the variables that it does not get.
	Program string   `json:",omitempty"`
	Path    string   `json:",omitempty"`
	Unset   []string `json:",omitempty"`
}

// CredentialFields are the header fields in which a secret is inserted unless it names its
// own. They carry credentials and nothing else. Cookie is not among them, nor is any field
// that a server would return in a response.
var CredentialFields = []string{
	"Authorization", "Api-Key", "Apikey", "Private-Token", "Job-Token", "X-Access-Token", "X-Algolia-Api-Key", "X-Api-Key", "X-Api-Token", "X-Apikey",
	"X-Auth-Key", "X-Auth-Token", "X-Figma-Token", "X-Goog-Api-Key", "X-Rapidapi-Key", "X-Shopify-Access-Token", "X-Subscription-Token", "X-Token", "X-Vault-Token",
	"Xi-Api-Key", "Dd-Api-Key", "Dd-Application-Key", "Ocp-Apim-Subscription-Key",
}

// HeaderFields returns the header fields that may contain the value.
func (s Secret) HeaderFields() []string {
	if s.Header == nil {
		return CredentialFields
	}
	return s.Header
}

// Placeholder returns the value of a secret's variable inside the jail. No placeholder is
// part of another one, and no escape for URLs, JSON or shells changes it.
func Placeholder(env string) string { return "mcp-jail-secret-" + env + "-placeholder" }

// CheckSecretValue returns an error if a value cannot be part of a header field: a line
// break in it could end the field and begin another. The error names the variable and does
// not contain the value.
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

// Source describes where the value comes from.
func (s Secret) Source() string {
	switch {
	case s.File != "":
		return "the file " + s.File
	case s.Command != nil:
		return "the output of " + s.Command[0]
	}
	return "the variable " + s.Env
}

func (s Secret) equal(t Secret) bool {
	return s.Env == t.Env && s.File == t.File && slices.Equal(s.Command, t.Command)
}

// SecretNames returns the variables of the rule's secrets.
func (r NetRule) SecretNames() (names []string) {
	for _, s := range r.Secrets {
		names = append(names, s.Env)
	}
	return names
}

func checkSecret(s Secret) error {
	if strings.Trim(s.Env, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" || s.Env == "" || len(s.Env) > 256 {
		return fmt.Errorf("env = %q: a secret's variable has letters, digits and \"_\" only, at most 256", Abbreviate(s.Env))
	}
	if IsMinimalVariable(s.Env) || IsDangerousVariable(s.Env) || strings.HasPrefix(s.Env, "MCP_JAIL_") {
		return fmt.Errorf("env = %q: no program takes a secret from this variable", Abbreviate(s.Env))
	}
	if s.File != "" && s.Command != nil {
		return fmt.Errorf("the secret %s has a file and a command: one of them is its source", s.Env)
	}
	for _, name := range s.Header {
		if err := checkHeaderName(name); err != nil {
			return err
		}
	}
	if s.Header != nil && len(s.Header) == 0 {
		return fmt.Errorf("header is empty: leave it out for the usual fields")
	}
	return checkSource(s)
}

// checkHeaderName validates the header field of a secret. It must be a token (RFC 9110,
// 5.6.2), and must not say where a request goes or how long it is.
func checkHeaderName(name string) error {
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"
	if name == "" || len(name) > 128 || strings.Trim(name, token) != "" {
		return fmt.Errorf("header = %q: write the name of a header field, as \"Authorization\"", Abbreviate(name))
	}
	switch lower := strings.ToLower(name); {
	case slices.Contains([]string{"host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "keep-alive", "destination"}, lower), strings.HasPrefix(lower, "proxy-"), IsHostHeader(name):
		return fmt.Errorf("header = %q: this field says where a request goes or where it ends, so it cannot carry a secret", Abbreviate(name))
	}
	return nil
}

// IsHostHeader reports whether some servers read another host or URL from a header field
// than the request is for. They may link to it, redirect to it or send a request there, and
// a credential with it.
func IsHostHeader(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	fields, _ := ProgramWords("header", "host")
	return strings.HasPrefix(name, "x-forwarded-") || slices.Contains(fields, name)
}

// checkSource refuses a source that the server, or the author of its workspace, could
// choose: mcp-jail reads it with all rights of the user.
func checkSource(s Secret) error {
	outside := func(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~/") }
	if s.File != "" {
		if err := CheckPath(s.File); err != nil {
			return err
		}
		if !outside(s.File) || strings.ContainsAny(path.Base(s.File), "*?[") {
			return fmt.Errorf("file = %q: write it as an absolute path or with ~/, without wildcards", Abbreviate(s.File))
		}
	}
	if s.Command == nil {
		return nil
	}
	if len(s.Command) == 0 || s.Command[0] == "" {
		return fmt.Errorf("the command of the secret %s is empty", s.Env)
	}
	if strings.Contains(s.Command[0], "/") && !outside(s.Command[0]) {
		return fmt.Errorf("command %q: write the program as a name in PATH, as an absolute path or with ~/", Abbreviate(s.Command[0]))
	}
	for _, word := range s.Command {
		if strings.ContainsRune(word, 0) {
			return fmt.Errorf("the command of the secret %s contains a NUL", s.Env)
		}
	}
	return nil
}

// AllSecrets returns the secrets of all rules, sorted by variable, and a problem for each
// variable that has two sources.
func (p *Policy) AllSecrets() (out []Secret, ps Problems) {
	at := map[string]Secret{}
	for _, r := range p.Net {
		for _, s := range r.Secrets {
			first, known := at[s.Env]
			if !known {
				at[s.Env] = s
				continue
			}
			if !s.equal(first) {
				ps = append(ps, ProblemAt(s.Where, "secret", "the secret %s is %s here and %s at %s: a variable has one source, which every rule repeats", s.Env, s.Source(), first.Source(), first.Where))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		out = append(out, at[name])
	}
	return out, ps
}

// SecretFiles returns the files of all secrets of this and the other policies. They are
// sensitive paths, even if a rule grants the directory around them.
func (p *Policy) SecretFiles() (files []string) {
	files = slices.Clone(p.Kept)
	for _, p := range append([]*Policy{p}, p.Others...) {
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
