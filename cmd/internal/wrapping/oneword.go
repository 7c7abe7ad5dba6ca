package wrapping

import (
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
)

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
