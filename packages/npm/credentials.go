package npm

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// Setting is a line of an .npmrc.
type Setting struct{ Name, Value string }

// Settings returns the settings of a file in npm's format. References to variables are replaced,
// in names too.
func Settings(text string, getenv func(name string) (string, bool)) (all []Setting) {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, "="); ok {
			all = append(all, Setting{expand(unquote(name), getenv), expand(unquote(value), getenv)})
		}
	}
	return all
}

// unquote returns a name or value of an .npmrc without the quotation marks around it.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	for _, q := range []string{`"`, `'`} {
		if len(text) > 1 && strings.HasPrefix(text, q) && strings.HasSuffix(text, q) {
			return text[1 : len(text)-1]
		}
	}
	return text
}

// reference is a variable in an .npmrc. npm leaves one that is not set as it is, unless a
// question mark follows its name.
var reference = regexp.MustCompile(`\$\{([^${}?]+)(\?)?\}`)

func expand(text string, getenv func(name string) (string, bool)) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		m := reference.FindStringSubmatch(found)
		value, ok := getenv(m[1])
		if !ok && m[2] == "" {
			return found
		}
		return value
	})
}

// Credential is a token or a password for a registry.
type Credential struct {
	Secret  string // the token or password
	Written string // the value of the setting: Secret, or base64 that contains it
}

// Credentials returns the credentials among settings. npm keeps passwords in base64.
func Credentials(settings []Setting) (all []Credential) {
	for _, s := range settings {
		kind := s.Name[strings.LastIndex(s.Name, ":")+1:] // older files have settings without a registry
		if s.Value == "" || reference.MatchString(s.Value) {
			continue
		}
		decoded, err := base64.StdEncoding.DecodeString(s.Value)
		switch {
		case kind == "_authToken":
			all = append(all, Credential{s.Value, s.Value})
		case kind == "_password" && err == nil:
			all = append(all, Credential{string(decoded), s.Value})
		case kind == "_auth" && err == nil:
			if _, password, ok := strings.Cut(string(decoded), ":"); ok {
				all = append(all, Credential{password, s.Value})
			}
		}
	}
	return all
}
