package report

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func (l ClientList) addMissing(flags []string) (added, more []string) {
	line := l.Line
	at := slices.Index(line, "--")
	if at < 2 {
		return nil, nil
	}
	before := slices.Clone(line[:at]) // mcp-jail's words
	for _, f := range splitFlags(flags) {
		own := splitFlags(before[2:])
		if slices.ContainsFunc(own, func(o flag) bool { return l.grants(o, f) }) {
			continue
		}
		if f.name == "--workspace" || f.name == "--limit" { // of two, one would be wrong
			own = slices.DeleteFunc(own, func(o flag) bool { return o.replacedBy(f) })
			before = before[:2]
			for _, o := range own {
				before = append(before, o.words...)
			}
		}
		words := f.words
		if strings.Contains(pathFlags, f.name) && len(words) == 2 {
			words = []string{f.name, l.wholePath(f.value)}
		}
		before, more = append(before, words...), append(more, words...)
	}
	return slices.Concat(before, line[at:]), more
}

func isDefault(line []string) bool {
	return countAccess(line) == 0 && !slices.ContainsFunc(ownWords(line), func(word string) bool { return strings.HasPrefix(word, "--preset") })
}

func ownWords(line []string) []string {
	if at := slices.Index(line, "--"); at >= 0 {
		return line[:at]
	}
	return line
}

func countAccess(line []string) (n int) {
	for _, word := range ownWords(line) {
		switch name, _, _ := strings.Cut(word, "="); name {
		case "--read", "--write", "--execute", "--net":
			n++
		}
	}
	return n
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

// pathFlags are the flags that grant a path.
const pathFlags = "--read --write --execute"

func (l ClientList) grants(f, other flag) bool {
	switch {
	case strings.Contains(pathFlags, f.name) && strings.Contains(pathFlags, other.name):
		return l.cleanPath(f.value) == l.cleanPath(other.value) && (f.name == other.name || other.name == "--read")
	case f.name == "--limit" && f.replacedBy(other):
		have, _ := strconv.Atoi(f.value[strings.Index(f.value, "=")+1:])
		want, err := strconv.Atoi(other.value[strings.Index(other.value, "=")+1:])
		return err == nil && have >= want
	}
	return f.name == other.name && f.value == other.value
}

// replacedBy reports whether two flags have the same name and, for --limit, the same key, so that
// only one of them can hold.
func (f flag) replacedBy(other flag) bool {
	key, _, _ := strings.Cut(f.value, "=")
	otherKey, _, _ := strings.Cut(other.value, "=")
	return f.name == other.name && (f.name != "--limit" || key == otherKey)
}

func (l ClientList) cleanPath(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && l.Home != "" {
		path = l.Home + "/" + rest
	} else if l.Workspace != "" && !strings.HasPrefix(path, "/") {
		path = l.Workspace + "/" + path
	}
	return filepath.Clean(path)
}

// wholePath returns a path below the workspace as one that means the same in every directory. The
// workspace itself stays ".".
func (l ClientList) wholePath(path string) string {
	if l.Workspace == "" || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") || filepath.Clean(path) == "." {
		return path
	}
	slash := ""
	if strings.HasSuffix(path, "/") { // it is to be made
		slash = "/"
	}
	whole := l.cleanPath(path) + slash
	if rest, ok := strings.CutPrefix(whole, l.Home+"/"); ok && l.Home != "" && l.Home != "/" {
		return "~/" + rest
	}
	return whole
}
