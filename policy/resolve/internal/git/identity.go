package git

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Identity is what git in a jail gets of the configurations of the user and of the system.
type Identity struct {
	Name, Email     string
	SafeDirectories []string // of safe.directory
}

// Config returns the text of a configuration, or "" for an identity without anything.
func (id Identity) Config() string {
	var b strings.Builder
	add := func(section, key, value string) {
		if b.Len() == 0 {
			b.WriteString("# Written by mcp-jail: user.name, user.email and safe.directory of your configuration of git.\n")
		}
		b.WriteString("[" + section + "]\n\t" + key + " = \"" + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + "\"\n")
	}
	if id.Name != "" {
		add("user", "name", id.Name)
	}
	if id.Email != "" {
		add("user", "email", id.Email)
	}
	for _, dir := range id.SafeDirectories {
		add("safe", "directory", dir)
	}
	return b.String()
}

// Bounds of an identity.
const (
	maxIdentity        = 512 // bytes of a name or an address
	maxSafeDirectories = 64
)

// Repositories returns the git directories that were found in and around grants, canonical.
func (b *Protector) Repositories() []string { return b.repositories }

func (b *Protector) found(dir string) {
	b.repositories = append(b.repositories, b.paths.Canonical(dir))
}

// Identity returns user.name, user.email and safe.directory of the configurations of the system and the
// user, as git reads them, but without their includes. A value that git would not use as it is counts as
// missing.
func (b *Protector) Identity() (id Identity) {
	for _, cfg := range slices.Backward(b.userConfigs()) { // the later one wins
		for _, s := range b.settingsOf(cfg) {
			switch s.name() {
			case "user.name":
				id.Name = plain(s.value, maxIdentity)
			case "user.email":
				id.Email = plain(s.value, maxIdentity)
			case "safe.directory":
				id.SafeDirectories = b.addSafe(id.SafeDirectories, s.value)
			}
		}
	}
	return id
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
	if value = plain(value, 4096); value == "" || value != "*" && !strings.HasPrefix(value, "/") || len(dirs) == maxSafeDirectories {
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
