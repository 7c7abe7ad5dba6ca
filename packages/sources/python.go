package sources

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// pythonVariables returns what the variables that begin with a prefix say, by the keys of files.
func (in *reading) pythonVariables(prefix string) (facts []fact) {
	for _, v := range in.Host.Environ {
		name, value, _ := strings.Cut(v, "=")
		if key, ok := strings.CutPrefix(name, prefix); ok {
			facts = append(facts, fact{key: pipKey(key), values: []string{value}, name: show.Line(name), chosen: true})
		}
	}
	return facts
}

func pipKey(name string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), "--")
}

// configDir is where the user's programs have their configuration.
func (in *reading) configDir() string {
	if dir := in.variable("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(in.Host.Home, ".config")
}

// readPip reads pip's variables, and the sections of its files. A section of a weaker file still wins
// over the next one of a stronger file.
func (in *reading) readPip() {
	in.add(in.pythonVariables("PIP_"))
	sections := map[string][]fact{}
	for _, file := range in.pipFiles() {
		in.readPipFile(file, sections)
	}
	for _, name := range []string{"install", "download", "global"} {
		in.add(sections[name])
	}
}

// pipFiles returns the paths of pip's files, the strongest first: the one that PIP_CONFIG_FILE
// names, that of the Python, the user's, unless there is the first one, and the system's.
func (in *reading) pipFiles() []string {
	own := in.variable("PIP_CONFIG_FILE")
	there := in.head(own, 1) != ""
	in.elsewhere = there || strings.EqualFold(own, os.DevNull)
	if in.elsewhere && !there {
		return nil
	}
	files := []string{own, filepath.Join(in.Prefix, "pip.conf")}
	if !there {
		files = append(files, filepath.Join(in.configDir(), "pip/pip.conf"), filepath.Join(in.Host.Home, ".pip/pip.conf"))
	}
	files = append(files, "/etc/pip.conf")
	for dir := range strings.SplitSeq(cmp.Or(in.variable("XDG_CONFIG_DIRS"), "/etc/xdg"), string(filepath.ListSeparator)) {
		files = append(files, filepath.Join(dir, "pip/pip.conf"))
	}
	return files
}

// readPipFile adds what a file says to its sections. The format is that of Python's
// RawConfigParser: a line that is indented more than its setting continues it.
func (in *reading) readPipFile(file string, sections map[string][]fact) {
	chosen := file == in.variable("PIP_CONFIG_FILE")
	section, indent, n := "", -1, 0
	for line := range strings.Lines(in.text(file)) {
		n++
		words := strings.TrimSpace(line)
		if words == "" || words[0] == '#' || words[0] == ';' {
			continue
		}
		at := strings.Index(line, words)
		header, isHeader := strings.CutPrefix(words, "[")
		delimiter := strings.IndexAny(words, "=:")
		facts := sections[section]
		switch {
		case indent >= 0 && at > indent: // also if it looks like a header or a setting
			last := &facts[len(facts)-1]
			last.values = append(last.values, words)
		case isHeader && strings.Contains(header, "]"):
			section, indent = header[:strings.LastIndex(header, "]")], -1
		case section == "" || delimiter <= 0:
			in.fail("line %d of %s is neither [SECTION] nor NAME = VALUE. Correct it; pip config debug lists pip's files", n, in.short(file))
			return
		default:
			key, value := pipKey(strings.TrimSpace(words[:delimiter])), strings.TrimSpace(words[delimiter+1:])
			name := show.Line(key) + " in " + in.short(file)
			sections[section], indent = append(facts, fact{key: key, values: strings.Fields(value), name: name, chosen: chosen}), at
		}
	}
}

// readUv reads uv's variables, and the user's file before the system's, or the one that UV_CONFIG_FILE names.
func (in *reading) readUv() {
	variables := in.pythonVariables("UV_")
	variables = slices.DeleteFunc(variables, func(f fact) bool { // the logins of indexes
		return matches("index-*-username", f.key) || matches("index-*-password", f.key)
	})
	for i, f := range variables {
		variables[i].values = nil
		for word := range strings.FieldsSeq(f.values[0]) {
			variables[i].values = append(variables[i].values, in.uvAddress(word))
		}
	}
	in.add(variables)
	file, none := in.variable("UV_CONFIG_FILE"), in.variable("UV_NO_CONFIG") != ""
	in.elsewhere = file != "" || none
	switch {
	case file != "":
		in.uvFile(file, true)
	case !none:
		in.uvFile(filepath.Join(in.configDir(), "uv/uv.toml"), false)
		in.uvFile("/etc/uv/uv.toml", false)
	}
}

// uvFile adds what a uv.toml says. An index that is explicit is asked only for packages that name it.
func (in *reading) uvFile(file string, chosen bool) {
	var all map[string]any
	if err := toml.Unmarshal([]byte(in.text(file)), &all); err != nil {
		in.fail("%s is not used: %w. Correct it", in.short(file), err)
	}
	var facts []fact
	add := func(key string, values ...string) {
		facts = append(facts, fact{key: key, values: values, name: show.Line(key) + " in " + in.short(file), chosen: chosen})
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list, isList := all[key].([]any)
		if !isList {
			list = []any{all[key]}
		}
		var values []string
		for _, one := range list {
			table, isTable := one.(map[string]any)
			address := in.uvAddress(fmt.Sprint(cmp.Or(table["name"], any("")), "=", table["url"]))
			switch {
			case !isTable:
				values = append(values, fmt.Sprint(one))
			case table["explicit"] == true:
			case table["default"] == true:
				add("default-index", address)
			default:
				values = append(values, address)
			}
		}
		add(key, values...)
	}
	in.add(facts)
}

// uvAddress returns the address of an index that is written as NAME=ADDRESS, with the login that the
// variables of that name have.
func (in *reading) uvAddress(text string) string {
	name, address, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(name, ":/") {
		return text
	}
	key := "UV_INDEX_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
	user, password := in.variable(key+"_USERNAME"), in.variable(key+"_PASSWORD")
	if !in.Logins || name == "" || user+password == "" {
		return address
	}
	clean, _, _ := withoutLogin(address)
	return strings.Replace(clean, "://", "://"+url.UserPassword(user, password).String()+"@", 1)
}
