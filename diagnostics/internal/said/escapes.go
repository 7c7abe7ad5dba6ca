package said

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Escapes are the lines of a text that had terminal escape sequences: the line without them, and
// the line with a character in place of each.
//
// Invariant: no name counts that the server wrote with an escape sequence inside, because without
// the sequence it is the name of something else.
type Escapes map[string]string

// remove returns a line without its escape sequences, and keeps where they were.
func (e Escapes) remove(line string) string {
	bare := strings.TrimSpace(show.Bare(line))
	if marked := show.Marked(line); marked != line {
		e[bare] += marked + "\n" // two lines may be the same without the sequences
	}
	return bare
}

// whole returns the references that are in a line as the server wrote it.
func (e Escapes) whole(line string, refs []Reference) []Reference {
	return slices.DeleteFunc(refs, func(ref Reference) bool { return e.Breaks(line, ref) })
}

// Breaks reports whether a reference is not in a line as the server wrote it.
func (e Escapes) Breaks(line string, ref Reference) bool {
	marked, had := e[line]
	if !had || ref.Authority || ref.Name == "" { // such a name is not from the line
		return false
	}
	// Every form in which the server wrote the line must have the whole name.
	for each := range strings.Lines(marked) {
		if !hasWhole(each, ref.Name) {
			return true
		}
		if port := strconv.Itoa(ref.Port); strings.Contains(line, port) && !hasWhole(each, port) {
			return true
		}
	}
	return false
}

// hasWhole reports whether a line has a name with no escape sequence inside it, and none but a
// colour beside it.
func hasWhole(line, name string) bool {
	line, name = strings.ToLower(line), strings.ToLower(name) // hosts are references in lower case
	for {
		before, after, ok := strings.Cut(line, name)
		if !ok {
			return false
		}
		if !strings.HasSuffix(before, "\ufffd") && !strings.HasPrefix(after, "\ufffd") {
			return true
		}
		line = after
	}
}
