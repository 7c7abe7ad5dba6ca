package diagnostics

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy"
)

// reference is something that a failing text names. It claims nothing yet: whether
// the policy refuses it is decided by judging it against the profile.
type reference struct {
	kind      referenceKind
	name      string
	fault     fault
	want      policy.Rights // of a path: what was attempted; 0 when the text does not say
	isMkdir   bool          // of a path: the attempt was to make a directory
	isConnect bool          // of a path: the attempt was to connect to a socket
	fromShell bool          // of a path: a shell says it, about a program or a redirection
	bare      bool          // of a path: a word that may as well be one of the sentence
	port      int           // of a host
	scheme    string        // of a host
	asked     bool          // of a variable: the text clearly asks for it
	// database: of a path: SQLite, which keeps a journal beside its file
	database bool
	// vague: the line holds the name and the fault, but nothing ties the two. Only
	// the first vague mention of a line can be blamed, and none beside an exact one.
	vague bool
	line  int // how far from the failure: 0 is the closest line
}

type referenceKind uint8

const (
	refPath referenceKind = iota + 1
	refHost
	refVariable
	refProgram
	refRepository // no name: what the server's working directory should have held
)

// lazyRegexp is a pattern that is compiled when it is first used: a session without a
// failure pays nothing for any of them, nor does the start of a program, mcp-jail or
// its shim, for making closures.
type lazyRegexp struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

func (l *lazyRegexp) re() *regexp.Regexp {
	l.once.Do(func() { l.compiled = regexp.MustCompile(l.text) })
	return l.compiled
}

const (
	maxLines      = 400     // lines of text that are looked at
	maxReferences = 200     // names that are judged
	maxLine       = 2 << 10 // bytes of a line that are looked at
)

// orderByRelevance lists the lines of a failure, the closest first: the text of the
// failing request before stderr, later lines before earlier ones.
func orderByRelevance(text string, stderr []string) []string {
	var lines []string
	add := func(from []string) {
		for i := len(from) - 1; i >= 0 && len(lines) < maxLines; i-- {
			if line := strings.TrimSpace(stripEscapes(cut(from[i], maxLine))); line != "" {
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

// stripEscapes drops terminal sequences: colours sit in the middle of messages.
func stripEscapes(s string) string {
	if !strings.ContainsAny(s, "\x1b\u009b\u009d") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// extractReferences extracts what lines name, which closeness has ordered.
func extractReferences(lines []string) []reference {
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
		if !slices.ContainsFunc(refs, func(ref reference) bool { return !ref.bare }) && (f == faultRefused || f == faultReadOnly || f == faultBusy) {
			refs = append(refs, pathsBefore(lines, i, f)...)
		}
		refs = append(refs, hostReferences(line, f)...)
		refs = append(refs, programReferences(line)...)
		refs = append(refs, variableReferences(line)...)
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

// isStackFrame tells a line of a stack trace: the paths in it are those of the
// program's own text, not of what it failed to reach.
func isStackFrame(line string) bool {
	return strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "File \"") ||
		strings.HasPrefix(line, "node:internal") || strings.HasPrefix(line, "goroutine ") ||
		strings.HasPrefix(line, "from /") && strings.Contains(line, ":in ")
}
