package wrapping

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// wholeLine returns the words of a program that is a whole command line in one word, or nil: no program
// has that name, and one has the name up to one of its blanks. Clients do not split it, but for one that
// has a shell start each server.
func wholeLine(word string, look hostfs.Host) []string {
	words := shown.Split(word)
	if len(words) < 2 || isProgram(word, look) {
		return nil
	}
	if _, err := runline.Parse(words); err == nil {
		return words // mcp-jail starts its package also if the launcher is missing
	}
	for i, r := range word {
		if r == ' ' && isProgram(word[:i], look) {
			return append([]string{word[:i]}, shown.Split(word[i:])...)
		}
	}
	return nil
}

// isProgram reports whether a word names a program that is there.
func isProgram(word string, look hostfs.Host) bool {
	switch rest, isHome := strings.CutPrefix(word, "~/"); {
	case isHome:
		word = filepath.Join(look.Home, rest)
	case !strings.Contains(word, "/"):
		return hasPath(look) && missing(word, look) == ""
	case !filepath.IsAbs(word):
		word = filepath.Join(look.Dir, word)
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// written returns a command line as the entry's file has it, without its secrets.
func (s Entry) written(argv []string) string {
	var words []string
	for _, word := range shown.Words(argv) {
		words = append(words, strconv.Quote(word))
	}
	key := func(name string) string { return strconv.Quote(name) + ": " }
	switch editFormat(s.by.place.Format) {
	case edit.TOML:
		key = func(name string) string { return name + " = " }
	case edit.YAML:
		key = func(name string) string { return name + ": " }
	}
	if s.Shape.Args == "" {
		return key(s.Shape.Command) + "[" + strings.Join(words, ", ") + "]"
	}
	return key(s.Shape.Command) + words[0] + ", " + key(s.Shape.Args) + "[" + strings.Join(words[1:], ", ") + "]"
}
