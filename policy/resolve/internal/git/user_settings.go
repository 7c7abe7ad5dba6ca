package git

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kept are the settings that git in a jail gets of the user and the system, in lower case: they change
// what it writes, and start no program.
var kept = strings.Fields(`user.name user.email author.name author.email committer.name committer.email
	core.autocrlf core.eol core.safecrlf core.whitespace core.commentchar apply.whitespace commit.cleanup i18n.commitencoding
	init.defaultbranch merge.conflictstyle merge.ff pull.ff pull.rebase push.default`)

// UserSettings is what git in a jail gets of the configurations of the user and the system, as git reads
// them, but without their includes. A value that git would not use as it is counts as missing.
type UserSettings struct {
	values          map[string]string
	safeDirectories []string
	Filters         []string // names of the filters whose commands git does not get
	Signs           bool     // the user has git sign commits, which it does not do in a jail
}

// UserSettings reads the settings. readable makes sure that the server can read a file.
func (b *Protector) UserSettings(readable func(file string) bool) UserSettings {
	configs := b.userConfigs()
	// The names of git's own choice, where the private HOME has none.
	s := UserSettings{values: map[string]string{"core.excludesfile": path.Join(path.Dir(configs[1]), "ignore"), "core.attributesfile": path.Join(path.Dir(configs[1]), "attributes")}}
	for _, cfg := range slices.Backward(configs) { // the later one wins
		for _, at := range b.settingsOf(cfg) {
			switch name := at.name(); {
			case slices.Contains(kept, name):
				s.values[name] = plain(at.value, maxValue)
			case name == "core.excludesfile" || name == "core.attributesfile":
				s.values[name] = plain(b.expandPath(at.value, ""), maxPath)
			case name == "safe.directory":
				s.safeDirectories = b.addSafe(s.safeDirectories, at.value)
			case name == "commit.gpgsign":
				s.Signs = slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(at.value))
			case at.section == "filter" && isCommand(at) && plain(at.sub, maxValue) == at.sub && !slices.Contains(s.Filters, at.sub):
				s.Filters = append(s.Filters, at.sub)
			}
		}
	}
	for _, name := range [...]string{"core.excludesfile", "core.attributesfile"} {
		if s.values[name] == "" || !readable(s.values[name]) {
			delete(s.values, name)
		}
	}
	return s
}

// Config returns the text of a configuration, or "" without any setting. A filter is required in it, so that
// git ends what it could only do without the filter.
func (s UserSettings) Config() string {
	var b strings.Builder
	add := func(section, sub, key, value string) {
		quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
		if sub != "" {
			section += ` "` + quote(sub) + `"`
		}
		b.WriteString("[" + section + "]\n\t" + key + " = \"" + quote(value) + "\"\n")
	}
	for _, name := range append(kept[:len(kept):len(kept)], "core.excludesfile", "core.attributesfile") {
		if value := s.values[name]; value != "" {
			section, key, _ := strings.Cut(name, ".")
			add(section, "", key, value)
		}
	}
	for _, dir := range s.safeDirectories {
		add("safe", "", "directory", dir)
	}
	for _, name := range s.Filters {
		add("filter", name, "required", "true")
	}
	if b.Len() == 0 {
		return ""
	}
	return "# Written by mcp-jail: settings of your configuration of git that start no program.\n" + b.String()
}

// Bounds of the settings.
const (
	maxValue           = 512 // bytes
	maxPath            = 4096
	maxSafeDirectories = 64
)

// Repositories returns the git directories that were found in and around grants, canonical.
func (b *Protector) Repositories() []string { return b.repositories }

func (b *Protector) found(dir string) {
	b.repositories = append(b.repositories, b.paths.Canonical(dir))
}

// addSafe adds a value of safe.directory. The empty one drops those before it, and "~" is the home
// directory of the user.
func (b *Protector) addSafe(dirs []string, value string) []string {
	if value == "" {
		return nil
	}
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		value = path.Join(b.h.Home, rest)
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
