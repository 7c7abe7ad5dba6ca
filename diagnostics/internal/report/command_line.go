package report

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// combined returns one addition to the client's command line with the flags of all diagnoses. ok is
// false where there is only one command line, or where the flags cannot be combined.
func (r Record) combined() (all addition, ok bool) {
	var first, flags, command []string
	several, known := false, true
	for _, d := range r.Diagnoses {
		if len(d.Line) == 0 || len(d.Declare) > 0 {
			continue
		}
		at := slices.Index(d.Line, "--")
		// The flags belong to one server: two commands have no line in common.
		if at < 2 || command != nil && !slices.Equal(command, d.Line[at:]) {
			return addition{}, false
		}
		added := d.addition().flags
		known = known && added != nil
		if first == nil {
			first, flags, command, all.flags = d.Line, slices.Clone(d.Line[:at]), d.Line[at:], added
			continue
		}
		several = several || !slices.Equal(first, d.Line)
		if flags = addFlags(flags, d.Line[2:at]); flags == nil {
			return addition{}, false
		}
		all.flags = addFlags(all.flags, added)
	}
	if !known { // a line that replaces the file's whole line: no flags are added to that
		all.flags = nil
	}
	all.line = slices.Concat(flags, command)
	return all, several
}

// notCombined says which refusals no combined command line grants, and why: those of hosts that
// caused no failure, and those of hosts whose names are not known.
func (r Record) notCombined() (lines []string) {
	var unneeded []string
	for _, h := range r.unreported() {
		if h.Axis == policy.AxisNet {
			unneeded = append(unneeded, show.Quote(h.Target))
		}
	}
	if unneeded != nil {
		lines = append(lines, "not in it: "+InWords(unneeded)+". Nothing failed without that: grant it if you know why the server wants it")
	}
	nameless := func(h Hint) bool { return h.Axis == policy.AxisNet && h.Target == "" }
	if slices.ContainsFunc(r.Diagnoses, func(d Diagnosis) bool { return len(d.Line) == 0 && slices.ContainsFunc(d.Hints, nameless) }) {
		lines = append(lines, "not in it: the hosts. A jail without a network does not learn their names: add --net HOST for each that the server needs")
	}
	return lines
}

// InWords returns the first five things, and how many more there are.
func InWords(things []string) string {
	const most = 5
	if more := len(things) - most; more > 0 {
		return strings.Join(things[:most], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(things, ", ")
}

// addFlags adds the missing flags. It returns nil if a flag that may occur once has two
// values.
func addFlags(flags, more []string) []string {
	for len(more) > 0 {
		n := 1
		if len(more) > 1 && !strings.Contains(more[0], "=") {
			n = 2
		}
		word := more[:n]
		more = more[n:]
		switch i := slices.Index(flags, word[0]); {
		case i >= 0 && word[0] == "--workspace" && !slices.Equal(flags[i:min(i+n, len(flags))], word):
			return nil
		case !containsRun(flags, word):
			flags = append(flags, word...)
		}
	}
	return flags
}

func containsRun(all, words []string) bool {
	for i := range all {
		if i+len(words) <= len(all) && slices.Equal(all[i:i+len(words)], words) {
			return true
		}
	}
	return false
}

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
