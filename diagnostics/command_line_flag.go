package diagnostics

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// addMissing returns the command line of a client with the flags that grant what it does not grant
// yet, and these flags. home is what "~/" means.
func addMissing(line, flags []string, home string) (added, more []string) {
	at := slices.Index(line, "--")
	if at < 2 {
		return nil, nil
	}
	before := slices.Clone(line[:at])
	for _, f := range splitFlags(flags) {
		own := splitFlags(before[2:])
		if slices.ContainsFunc(own, func(o flag) bool { return o.grants(f, home) }) {
			continue
		}
		if f.name == "--workspace" || f.name == "--limit" { // of two, one would be wrong
			own = slices.DeleteFunc(own, func(o flag) bool { return o.replacedBy(f) })
			before = before[:2]
			for _, o := range own {
				before = append(before, o.words...)
			}
		}
		before, more = append(before, f.words...), append(more, f.words...)
	}
	return slices.Concat(before, line[at:]), more
}

// flag is a flag of mcp-jail run, as it is written.
type flag struct {
	name, value string
	words       []string
}

func splitFlags(words []string) (all []flag) {
	for len(words) > 0 {
		f := flag{words: words[:1]}
		var joined bool
		if f.name, f.value, joined = strings.Cut(words[0], "="); !joined && len(words) > 1 {
			f.value, f.words = words[1], words[:2]
		}
		all, words = append(all, f), words[len(f.words):]
	}
	return all
}

// grants reports whether a flag grants what another one does.
func (f flag) grants(other flag, home string) bool {
	const paths = "--read --write --execute"
	switch {
	case strings.Contains(paths, f.name) && strings.Contains(paths, other.name):
		return samePath(f.value, other.value, home) && (f.name == other.name || other.name == "--read")
	case f.name == "--limit" && f.replacedBy(other):
		have, _ := strconv.Atoi(f.value[strings.Index(f.value, "=")+1:])
		want, err := strconv.Atoi(other.value[strings.Index(other.value, "=")+1:])
		return err == nil && have >= want
	}
	return f.name == other.name && f.value == other.value
}

// replacedBy reports whether another flag sets the same thing to one value.
func (f flag) replacedBy(other flag) bool {
	key, _, _ := strings.Cut(f.value, "=")
	otherKey, _, _ := strings.Cut(other.value, "=")
	return f.name == other.name && (f.name != "--limit" || key == otherKey)
}

// samePath reports whether two flags name one path.
func samePath(a, b, home string) bool {
	clean := func(path string) string {
		if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
			path = home + "/" + rest
		}
		return filepath.Clean(path)
	}
	return clean(a) == clean(b)
}
