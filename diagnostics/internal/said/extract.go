package said

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Reference is a name in a failing text. Whether the policy refuses it follows from the
// profile.
type Reference struct {
	Kind      Kind
	Name      string
	Fault     Fault
	Want      policy.Rights // of a path: the rights that the attempt needed; 0 when the text does not tell
	IsMkdir   bool          // of a path: the attempt was to create a directory
	IsConnect bool          // of a path: the attempt was to connect to a socket
	FromShell bool          // of a path: a shell wrote the line, about a program or a redirection
	Bare      bool          // of a path: may also be a word of the sentence
	Port      int           // of a host
	Scheme    string        // of a host
	Direct    bool          // of a host: the error is that of a lookup or a connection by the program itself, and not by a proxy
	From      string        // of a path: the file that imports it; the path is that of a module or its name alone
	Asked     bool          // of a variable: the text clearly asks for it
	// database: of a path: a file of SQLite, which keeps a journal beside it
	Database bool
	// vague: the line holds the name and the fault, but no pattern connects them. If the policy
	// refuses an earlier name of the line, a vague reference counts only if it is a variable.
	Vague bool
	Errno bool // the line has the error of an absent file itself: see NamesErrno
	Line  int  // distance from the failure: 0 is the closest line
}

type Kind uint8

const (
	Path Kind = iota + 1
	Host
	Variable
	Program
	Repository // without a name: git found no repository
)

const (
	maxLines      = 400     // lines of the failing request's text that are analyzed
	minLine       = 3       // bytes of a line that can say what failed
	maxReferences = 200     // names that are analyzed
	maxLine       = 2 << 10 // bytes of a line that are analyzed
)

// OrderByRelevance returns the lines of a failure, the closest first: the text of the
// failing request before stderr, later lines before earlier ones. escaped gets the lines that had
// escape sequences.
func OrderByRelevance(text string, stderr []string, escaped Escapes) []string {
	var lines []string
	add := func(from []string, most int) {
		for i := len(from) - 1; i >= 0 && len(lines) < most; i-- {
			if line := escaped.remove(show.Cut(from[i], maxLine)); line != "" {
				lines = append(lines, line)
			}
		}
	}
	// Results often carry an error with its line breaks escaped once more.
	text = show.Cut(text, maxLine*64)
	text = strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", "\r", "\n").Replace(text)
	add(strings.Split(text, "\n"), maxLines)
	add(stderr, maxLines+len(stderr))
	return lines
}

// References extracts the names in lines, which OrderByRelevance has sorted.
func References(lines []string, escaped Escapes) []Reference {
	var all []Reference
	for i, line := range lines {
		if IsStackFrame(line) || RefusedElsewhere(line) {
			continue
		}
		f, signature := MatchFault(line)
		refs := append(gitReferences(line, f), moduleReferences(lines, i)...)
		if len(refs) == 0 {
			refs = slices.DeleteFunc(pathReferences(line, f), func(ref Reference) bool {
				return strings.HasPrefix(ref.Name, "lookup ") // Go's word before a host
			})
		}
		// A line with a fault and no name belongs to the lines above it.
		named := slices.ContainsFunc(refs, func(ref Reference) bool { return !ref.Bare })
		refs = escaped.whole(line, refs)
		if !named && (f == Refused || f == ReadOnly || f == Busy) {
			refs = append(refs, pathsBefore(lines, i, f, escaped)...)
		}
		refs = append(refs, escaped.whole(line, slices.Concat(hostReferences(line, f), programReferences(line), variableReferences(line)))...)
		for _, ref := range refs {
			ref.Line, ref.Errno = i, f == Absent && NamesErrno(line)
			ref.Direct = ref.Kind == Host && (f == Refused || signature == "ENOTFOUND" || signature == "EAI_AGAIN")
			all = append(all, ref)
		}
		if len(all) >= maxReferences {
			return all[:maxReferences]
		}
	}
	return all
}

// IsStackFrame reports whether a line belongs to a stack trace. The paths in it are those
// of source files.
func IsStackFrame(line string) bool {
	return strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "File \"") ||
		strings.HasPrefix(line, "node:internal") || strings.HasPrefix(line, "goroutine ") ||
		strings.HasPrefix(line, "from /") && strings.Contains(line, ":in ")
}

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
	if !had || ref.Name == "" { // such a name is not from the line
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
