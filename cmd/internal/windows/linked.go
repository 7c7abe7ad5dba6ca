package windows

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// linked returns an error if words of an entry have a path whose links lead to another machine.
func linked(e clients.Entry, words []string, host clients.Host, texts func(word string) []string) error {
	if host.Away == nil {
		return nil
	}
	dirs := []string{host.Project}
	for _, text := range texts(e.Cwd) {
		if text != "" {
			dirs = append(dirs, whole(text, host.Project))
		}
	}
	seen := map[string]bool{}
	for _, word := range words {
		for _, path := range paths(word, dirs) {
			if seen[path] {
				continue
			}
			seen[path] = true
			if err := host.Away(host.Project, path); err != nil {
				return fmt.Errorf("the server %s: %w; until then mcp-jail looks at no server of this file", show.Name(e.Server), err)
			}
		}
	}
	return nil
}

// paths returns the paths that a word may have: it is one, or has one after the sign of a flag, or is a list
// of some. A relative path is in one of the directories.
func paths(word string, dirs []string) (all []string) {
	parts := strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("=;\"'", r) })
	for _, part := range append(parts, word) {
		if part == "" || strings.Contains(part, "://") {
			continue
		}
		for _, dir := range dirs {
			all = append(all, whole(part, dir))
		}
	}
	return all
}

// whole returns the whole path of one that may begin in a directory, or at the root of its drive.
func whole(path, dir string) string {
	switch {
	case len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/'):
		return path
	case strings.HasPrefix(path, `\`), strings.HasPrefix(path, "/"):
		return dir[:min(2, len(dir))] + path
	}
	return dir + `\` + path
}
