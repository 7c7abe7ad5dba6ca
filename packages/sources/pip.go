package sources

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// pipSections are the sections of a pip.conf that count, the strongest first. One of a weaker file
// still wins over the next one of a stronger file.
var pipSections = []string{"install", "download", "global"}

// readPip reads pip's variables, and the sections of its files.
func (in *reading) readPip() {
	in.add(in.pythonVariables("PIP_"))
	sections := map[string][]fact{}
	for _, file := range in.pipFiles() {
		in.readPipFile(file, sections)
	}
	for _, name := range pipSections {
		in.add(sections[name])
	}
}

// pythonVariables returns what the variables that begin with a prefix say, by the keys of files.
func (in *reading) pythonVariables(prefix string) (facts []fact) {
	for _, v := range in.Host.Environ {
		name, value, _ := strings.Cut(v, "=")
		if key, ok := strings.CutPrefix(name, prefix); ok && value != "" {
			facts = append(facts, fact{key: pipKey(key), values: []string{value}, from: name, chosen: true})
		}
	}
	return facts
}

func pipKey(name string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), "--")
}

// pipFiles returns the paths of pip's files, the strongest first: the one that PIP_CONFIG_FILE
// names, that of the Python, the user's, unless there is the first one, and the system's.
func (in *reading) pipFiles() (files []string) {
	own, _ := in.variable("PIP_CONFIG_FILE")
	if strings.EqualFold(own, os.DevNull) {
		in.elsewhere = true
		return nil
	}
	files = []string{own}
	if in.Prefix != "" {
		files = append(files, filepath.Join(in.Prefix, "pip.conf"))
	}
	if _, err := os.Stat(own); own != "" && err == nil {
		in.elsewhere = true
	} else {
		files = append(files, filepath.Join(in.configDir(), "pip/pip.conf"), filepath.Join(in.Host.Home, ".pip/pip.conf"))
	}
	files = append(files, "/etc/pip.conf")
	dirs, _ := in.variable("XDG_CONFIG_DIRS")
	for dir := range strings.SplitSeq(cmp.Or(dirs, "/etc/xdg"), string(filepath.ListSeparator)) {
		files = append(files, filepath.Join(dir, "pip/pip.conf"))
	}
	return files
}

// configDir is where the user's programs have their configuration.
func (in *reading) configDir() string {
	if dir, _ := in.variable("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(in.Host.Home, ".config")
}

// readPipFile adds what a file says to its sections. The format is that of Python's
// RawConfigParser: a line that is indented more than its setting continues it.
func (in *reading) readPipFile(file string, sections map[string][]fact) {
	var facts []fact
	section, begun, indent, n := "", false, -1, 0
	end := func() { sections[section], facts, indent = append(sections[section], facts...), nil, -1 }
	for line := range strings.Lines(in.text(file)) {
		n++
		words := strings.TrimSpace(line)
		if words == "" || words[0] == '#' || words[0] == ';' {
			continue
		}
		at := strings.Index(line, words)
		header, isHeader := strings.CutPrefix(words, "[")
		switch delimiter := strings.IndexAny(words, "=:"); {
		case indent >= 0 && at > indent: // also if it looks like a header or a setting
			last := &facts[len(facts)-1]
			last.values = append(last.values, words)
		case isHeader && strings.Contains(header, "]"):
			end()
			section, begun = header[:strings.LastIndex(header, "]")], true
		case !begun || delimiter <= 0:
			in.fail(fmt.Errorf("line %d of %s is neither [SECTION] nor NAME = VALUE. Correct it; pip config debug lists pip's files", n, show.Line(in.short(file))))
			return
		default:
			key := pipKey(strings.TrimSpace(words[:delimiter]))
			facts = slices.DeleteFunc(facts, func(f fact) bool { return f.key == key })
			facts = append(facts, fact{key: key, values: nonEmpty(strings.TrimSpace(words[delimiter+1:])), from: in.short(file), named: true, chosen: file == in.pipOwn()})
			indent = at
		}
	}
	end()
}

func nonEmpty(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

func (in *reading) pipOwn() string {
	own, _ := in.variable("PIP_CONFIG_FILE")
	return own
}
