package masks

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// UserSettings returns the text of a configuration with what git in a jail gets of those of the user and the
// system, as git reads them, but without their includes. A value that git would not use as it is counts as
// missing. readable makes sure that the server can read a file. A filter, whose commands git does not get, is
// required, so that git ends what it could only do without it. signs reports whether the user has git sign
// commits.
func (g *Git) UserSettings(readable func(file string) bool) (text string, filters []string, signs bool) {
	kept, configs := places.Rows("git kept"), g.userConfigs()
	own := path.Dir(configs[1]) // whose files git reads unless a setting names others
	files := map[string]string{"excludesfile": own + "/ignore", "attributesfile": own + "/attributes"}
	values, safe := map[string]string{}, []string(nil)
	for _, cfg := range slices.Backward(configs) { // the later one wins
		for _, s := range g.settingsOf(cfg) {
			switch name := s.name(); {
			case slices.Contains(kept, name):
				values[name] = plain(s.value, maxValue)
			case s.section == "core" && s.sub == "" && files[s.key] != "":
				files[s.key] = cmp.Or(plain(g.expandPath(s.value, ""), maxPath), "/")
			case name == "safe.directory":
				safe = g.addSafe(safe, s.value)
			case name == "commit.gpgsign":
				signs = slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(s.value))
			case s.section == "filter" && isCommand(s) && plain(s.sub, maxValue) == s.sub && !slices.Contains(filters, s.sub):
				filters = append(filters, s.sub)
			}
		}
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	add := func(section, key, value string) {
		text += "[" + section + "]\n\t" + key + " = \"" + quote(value) + "\"\n"
	}
	for _, name := range kept {
		if section, key, _ := strings.Cut(name, "."); values[name] != "" {
			add(section, key, values[name])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		if readable(files[key]) {
			add("core", key, files[key])
		}
	}
	for _, dir := range safe {
		add("safe", "directory", dir)
	}
	for _, name := range filters {
		add(`filter "`+quote(name)+`"`, "required", "true")
	}
	if text != "" {
		text = "# Written by mcp-jail: settings of your configuration of git that start no program.\n" + text
	}
	return text, filters, signs
}

// Bounds of the settings.
const (
	maxValue           = 512 // bytes
	maxPath            = 4096
	maxSafeDirectories = 64
)

// addSafe adds a value of safe.directory. The empty one drops those before it, and "~" is the home
// directory of the user.
func (g *Git) addSafe(dirs []string, value string) []string {
	if value == "" {
		return nil
	}
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		value = path.Join(g.Host.Home, rest)
	}
	if value = plain(value, maxPath); value == "" || value != "*" && !strings.HasPrefix(value, "/") || len(dirs) == maxSafeDirectories {
		return dirs
	}
	return append(dirs, value)
}

// plain returns a text without spaces around it, or "" if it is too long or is no text of one line.
func plain(text string, limit int) string {
	text = strings.TrimSpace(text)
	if len(text) > limit || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return text
}
