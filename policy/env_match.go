package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// CheckVariable validates the exact name of a variable.
func CheckVariable(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name is empty")
	case strings.Contains(name, "=") && !strings.HasPrefix(name, "="): // the value may be a secret
		return fmt.Errorf("a value is given after the name %q: write the name alone, and set the value where mcp-jail is started, such as in the env of the client's entry", Abbreviate(name[:strings.IndexByte(name, '=')]))
	case strings.ContainsAny(name, "=\x00\r\n"):
		return fmt.Errorf("%q is not the name of a variable", Abbreviate(name))
	case strings.Contains(name, "*"):
		return fmt.Errorf("%q: only access.env takes a prefix; here names are exact", Abbreviate(name))
	case len(name) > 1024:
		return fmt.Errorf("the name is longer than 1024 bytes")
	}
	return nil
}

// CheckEnvName validates the name of an env rule, whose only wildcard is a "*" at
// its end.
func CheckEnvName(name string) error {
	if literal, ok := strings.CutSuffix(name, "*"); ok {
		if strings.Contains(literal, "*") {
			return fmt.Errorf("%q: the only wildcard is one trailing \"*\"", Abbreviate(name))
		}
		if literal == "" {
			return nil
		}
		name = literal
	} else if strings.Contains(name, "*") {
		return fmt.Errorf("%q: the only wildcard is one trailing \"*\"", Abbreviate(name))
	}
	return CheckVariable(name)
}

// CheckEnvRule validates a rule with a file. Who may write the file chooses the value, so it sets no variable that
// decides which code runs.
func CheckEnvRule(r EnvRule) error {
	switch {
	case r.File == "":
		return nil
	case !r.Read:
		return fmt.Errorf("a rule with read = false has no file: leave file out")
	case strings.HasSuffix(r.Name, "*"):
		return fmt.Errorf("%q: a rule with a file is for one variable: write its whole name", Abbreviate(r.Name))
	case IsDangerousVariable(r.Name), IsMinimalVariable(r.Name):
		return fmt.Errorf("%q decides which code runs, or is mcp-jail's own: no file gives it. Set it where the client starts the server", Abbreviate(r.Name))
	}
	return nil
}

// AuthorityVariables name a file of certificate authorities: to node, to OpenSSL and what uses it, to
// Python's requests, curl, git, pip, Deno, cargo and the SDKs of AWS, and to most programs of NixOS.
var AuthorityVariables = []string{
	"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
	"PIP_CERT", "DENO_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "NIX_SSL_CERT_FILE",
}

// MatchEnv evaluates the env rules for one variable. ok is true where a rule forwards it and none refuses it. rule is
// the one that refuses, or one that forwards it: the last exact one, if there is one, and among them one that names a
// file before the others. A prefix does not forward an
// [IsDangerousVariable] name.
func MatchEnv(rules []EnvRule, name string) (rule EnvRule, ok bool) {
	for _, r := range rules {
		switch exact := r.Name == name; {
		case !exact && (!EnvIncludes(r.Name, name) || r.Read && IsDangerousVariable(name)):
		case !r.Read:
			return r, false
		case !ok, exact && (r.File != "" || rule.File == ""):
			rule, ok = r, true
		}
	}
	return rule, ok
}

// IsDangerousVariable reports whether a variable makes a program load or run other code
// than it would otherwise. Only an exact rule forwards such a variable, with a
// warning (docs/policy.md "Environment rules").
func IsDangerousVariable(name string) bool {
	if dangerous()[name] || strings.HasPrefix(name, "CARGO_TARGET_") && (strings.HasSuffix(name, "_RUNNER") || strings.HasSuffix(name, "_LINKER")) {
		return true
	}
	prefixes, _ := ProgramWords("variable", "dangerous-prefix")
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

var dangerous = sync.OnceValue(func() map[string]bool {
	words, _ := ProgramWords("variable", "dangerous")
	names := make(map[string]bool, len(words))
	for _, name := range words {
		names[name] = true
	}
	return names
})

// LooksLikeSecret reports whether a variable has the name of a secret. Its value is redacted
// in output even if a prefix rule forwards it, like that of a variable granted by name. Nothing else rests on it.
func LooksLikeSecret(name string) bool {
	upper := strings.ToUpper(name)
	for _, part := range [...]string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTH", "COOKIE", "SESSION"} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	return strings.HasSuffix(upper, "_KEY") || strings.HasSuffix(upper, "_PAT") || strings.HasSuffix(upper, "_PASS") || strings.HasSuffix(upper, "_DSN")
}

// TextEncoding is the variable in which macOS keeps the encoding of the user's language. Without it, each
// program would look for ~/.CFUserTextEncoding.
const TextEncoding = "__CF_USER_TEXT_ENCODING"

// IsMinimalVariable reports whether every server gets the variable.
func IsMinimalVariable(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", TextEncoding:
		return true
	}
	return strings.HasPrefix(name, "LC_")
}
