package npm

import (
	"path"
	"slices"
	"strings"
)

// Config is npm's configuration: what its sources say, the one that counts first: variables, the
// user's file, the global file, and the file that npm itself brings.
type Config [][]Setting

// listSeparator joins the values of a list.
const listSeparator = "\n\n"

// Get returns a setting, or "" if it is not set. The values of a list are joined by empty lines, as
// in a variable. An empty value does not count.
func (c Config) Get(name string) string {
	for _, source := range c {
		if value := valueOf(source, name); value != "" {
			if value == "null" {
				return ""
			}
			return value
		}
	}
	return ""
}

func valueOf(source []Setting, name string) (value string) {
	list := false
	for _, s := range source {
		isList := s.Name == name+"[]"
		switch {
		case !isList && s.Name != name:
		case (isList || list) && value != "":
			value, list = value+listSeparator+s.Value, true
		default:
			value, list = s.Value, list || isList
		}
	}
	return value
}

// Path returns a setting that is a path. npm runs in dir.
func (c Config) Path(name, home, dir string) string {
	value := c.Get(name)
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return path.Join(home, rest)
	}
	if value == "" || path.IsAbs(value) {
		return value
	}
	return path.Join(dir, value)
}

// Names returns the names of all settings, each once.
func (c Config) Names() (names []string) {
	for _, source := range c {
		for _, s := range source {
			if name := strings.TrimSuffix(s.Name, "[]"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
