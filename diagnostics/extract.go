package diagnostics

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// reference is a name in a failing text. Whether the policy refuses it follows from the
// profile.
type reference struct {
	kind      referenceKind
	name      string
	fault     fault
	want      policy.Rights // of a path: the rights that the attempt needed; 0 when the text does not tell
	isMkdir   bool          // of a path: the attempt was to create a directory
	isConnect bool          // of a path: the attempt was to connect to a socket
	fromShell bool          // of a path: a shell wrote the line, about a program or a redirection
	bare      bool          // of a path: may also be a word of the sentence
	port      int           // of a host
	scheme    string        // of a host
	asked     bool          // of a variable: the text clearly asks for it
	authority bool          // of a variable: it names certificates, and the text distrusts one
	// database: of a path: a file of SQLite, which keeps a journal beside it
	database bool
	// vague: the line holds the name and the fault, but no pattern connects them. If the policy
	// refuses an earlier name of the line, a vague reference counts only if it is a variable.
	vague bool
	line  int // distance from the failure: 0 is the closest line
}

type referenceKind uint8

const (
	refPath referenceKind = iota + 1
	refHost
	refVariable
	refProgram
	refRepository // without a name: git found no repository
)

const (
	maxLines      = 400     // lines of text that are analyzed
	maxReferences = 200     // names that are analyzed
	maxLine       = 2 << 10 // bytes of a line that are analyzed
)

// orderByRelevance returns the lines of a failure, the closest first: the text of the
// failing request before stderr, later lines before earlier ones. escaped gets the lines that had
// escape sequences.
func orderByRelevance(text string, stderr []string, escaped escapes) []string {
	var lines []string
	add := func(from []string) {
		for i := len(from) - 1; i >= 0 && len(lines) < maxLines; i-- {
			if line := escaped.remove(cut(from[i], maxLine)); line != "" {
				lines = append(lines, line)
			}
		}
	}
	// Results often carry an error with its line breaks escaped once more.
	text = cut(text, maxLine*64)
	text = strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", "\r", "\n").Replace(text)
	add(strings.Split(text, "\n"))
	add(stderr)
	return lines
}

// extractReferences extracts the names in lines, which orderByRelevance has sorted.
func extractReferences(lines []string, escaped escapes) []reference {
	var all []reference
	for i, line := range lines {
		if isStackFrame(line) || refusedElsewhere(line) {
			continue
		}
		f, _ := matchFault(line)
		refs := gitReferences(line, f)
		if len(refs) == 0 {
			refs = pathReferences(line, f)
		}
		named := slices.ContainsFunc(refs, func(ref reference) bool { return !ref.bare })
		refs = escaped.whole(line, refs)
		if !named && (f == faultRefused || f == faultReadOnly || f == faultBusy) {
			refs = append(refs, pathsBefore(lines, i, f, escaped)...)
		}
		refs = append(refs, escaped.whole(line, slices.Concat(hostReferences(line, f), programReferences(line), variableReferences(line)))...)
		for _, ref := range refs {
			ref.line = i
			all = append(all, ref)
		}
		if len(all) >= maxReferences {
			return all[:maxReferences]
		}
	}
	return all
}

// isStackFrame reports whether a line belongs to a stack trace. The paths in it are those
// of source files.
func isStackFrame(line string) bool {
	return strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "File \"") ||
		strings.HasPrefix(line, "node:internal") || strings.HasPrefix(line, "goroutine ") ||
		strings.HasPrefix(line, "from /") && strings.Contains(line, ":in ")
}
