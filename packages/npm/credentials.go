package npm

import (
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

// References returns the names of the variables in a file in npm's format.
func References(text string) (names []string) {
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}
