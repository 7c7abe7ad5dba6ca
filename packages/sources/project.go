package sources

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Own is the line with which a project names a registry of its own.
type Own struct {
	File, Line string
	Home       string // the user's file in which the same line counts for mcp-jail
}

// OfProject returns the first such line of a project, or nil. The project is the working directory, and the
// directories above it, up to the home directory.
func OfProject(host *hostfs.Host, npm bool) *Own {
	names, keys := []string{"pip.conf", "uv.toml", "pyproject.toml"}, []string{"index-url", "index", "find-links"}
	if npm {
		names, keys = []string{".npmrc"}, []string{"registry"}
	}
	for dir := host.Dir; dir != host.Home; dir = filepath.Dir(dir) {
		for _, name := range names {
			file, _ := filepath.EvalSymlinks(filepath.Join(dir, name)) // npm follows a link, too
			text, _ := host.ReadHead(file, maxProjectFile)             // most projects have no such file
			for line := range strings.Lines(string(text)) {
				if namesRegistry(line, keys) {
					clean, _, _ := withoutLogin(strings.TrimSpace(line))
					return &Own{filepath.Join(dir, name), clean, homeOf(host, name)}
				}
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return nil
}

// maxProjectFile bounds what is read of such a file.
const maxProjectFile = 1 << 20

// namesRegistry reports whether a line sets a key that ends in one of keys, or begins a table of that name. It
// does not matter in which section: at worst, a line runs as it is given that could have been pinned.
func namesRegistry(line string, keys []string) bool {
	name, _, sets := strings.Cut(strings.ReplaceAll(line, "_", "-"), "=")
	name = strings.TrimSpace(name)
	table := strings.HasPrefix(name, "[[")
	name = strings.ToLower(strings.Trim(name, `[]"'`))
	return (sets || table) && slices.ContainsFunc(keys, func(key string) bool { return strings.HasSuffix(name, key) })
}

func homeOf(host *hostfs.Host, name string) string {
	switch name {
	case ".npmrc":
		return filepath.Join(host.Home, name)
	case "pip.conf":
		return filepath.Join(host.Home, ".config", "pip", name)
	}
	return filepath.Join(host.Home, ".config", "uv", "uv.toml")
}
