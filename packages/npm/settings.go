package npm

import (
	"encoding/json"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// Setting is a line of an .npmrc, or a variable that npm reads.
type Setting struct{ Name, Value string }

// Settings returns the settings of a file in npm's format. References to variables are replaced,
// in names too. A name with "[]" at its end is one value of a list. Lines below a [section] are
// none of npm's settings.
func Settings(text string, getenv func(name string) (string, bool)) (all []Setting) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		switch start := strings.TrimSpace(line); {
		case start == "" || start[0] == ';' || start[0] == '#' || start[0] == '=':
			continue
		case line[0] == '[' && strings.HasSuffix(start, "]"):
			return all
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			value = "true"
		}
		all = append(all, Setting{expand(unquote(name), getenv), expand(unquote(value), getenv)})
	}
	return all
}

// VariableSettings returns the settings in variables, which are NAME=value.
func VariableSettings(environ []string, getenv func(name string) (string, bool)) (all []Setting) {
	const prefix = "npm_config_"
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) || value == "" {
			continue
		}
		if name = name[len(prefix):]; !strings.HasPrefix(name, "//") { // such a name belongs to a registry
			name = strings.ToLower(name[:1] + strings.ReplaceAll(name[1:], "_", "-"))
		}
		all = append(all, Setting{expand(name, getenv), expand(strings.TrimSpace(value), getenv)})
	}
	return all
}

// unquote returns a name or value of an .npmrc without the quotation marks around it, or without
// the comment after it.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	for _, q := range []string{`"`, `'`} {
		if len(text) > 1 && strings.HasPrefix(text, q) && strings.HasSuffix(text, q) {
			inner := text
			if q == "'" {
				inner = text[1 : len(text)-1]
			}
			var decoded string
			if json.Unmarshal([]byte(inner), &decoded) == nil {
				return decoded
			}
			return inner
		}
	}
	var out strings.Builder
	for i := 0; i < len(text) && text[i] != ';' && text[i] != '#'; i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte(`\;#`, text[i+1]) >= 0 {
			i++
		}
		out.WriteByte(text[i])
	}
	return strings.TrimSpace(out.String())
}

// reference is a variable in an .npmrc. npm leaves one that is not set as it is, unless a
// question mark follows its name. An odd number of backslashes makes it a text.
var reference = lazy.Regexp(`(\\*)\$\{([^${}?]+)(\?)?\}`)

func expand(text string, getenv func(name string) (string, bool)) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return reference().ReplaceAllStringFunc(text, func(found string) string {
		m := reference().FindStringSubmatch(found)
		if n := len(m[1]); n%2 == 1 {
			return found[(n+1)/2:]
		}
		value, ok := getenv(m[2])
		if !ok && m[3] == "" {
			value = "${" + m[2] + "}"
		}
		return m[1][len(m[1])/2:] + value
	})
}

// References returns the names of the variables in a file in npm's format.
func References(text string) (names []string) {
	for _, m := range reference().FindAllStringSubmatch(text, -1) {
		names = append(names, m[2])
	}
	return names
}

// ReferredRegistries returns the settings of a file in npm's format that name a registry by a
// variable.
func ReferredRegistries(text string, getenv func(name string) (string, bool)) (all []Setting) {
	written := Settings(text, func(string) (string, bool) { return "", false })
	for i, s := range Settings(text, getenv) {
		if (s.Name == "registry" || strings.HasSuffix(s.Name, ":registry")) && s != written[i] {
			all = append(all, s)
		}
	}
	return all
}
