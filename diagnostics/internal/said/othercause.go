package said

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// ownFault are words, in lower case, with which a program says what it lacks or was given wrongly: a
// key or a variable, an argument, a setting; or that its own code is faulty. No refusal of the jail
// leads to them.
var ownFault = []func() *regexp.Regexp{
	// a key or a login
	lazy.Regexp(`\b(?:api[ _-]?key|access[ _-]?key|token|credential|password|secret|client[ _-]?id|license)s?\b.{0,40}\b(?:required|missing|not (?:set|found|provided|configured|defined|specified|valid)|invalid|expired|revoked|must be|empty|needed|unset|rejected)\b`),
	lazy.Regexp(`\b(?:no|missing|invalid|bad|incorrect|wrong|expired|without|needs?|requires?|provide|set)\b.{0,30}\b(?:api[ _-]?key|access[ _-]?key|token|credential|password|secret|client[ _-]?id|license)s?\b`),
	lazy.Regexp(`\b401\b|\bunauthori[sz]ed\b|\bunauthenticated\b|\binvalid_grant\b|\binvalid_client\b|authentication (?:failed|required|error)|\bnot (?:authenticated|logged in|signed in)\b`),
	// a variable or a setting
	lazy.Regexp(`\benv(?:ironment)?[ _-]?var(?:iable)?s?\b.{0,40}\b(?:required|missing|not set|unset|must|set|provide)|validation errors? for |\bfield required\b|\bmust (?:be set|be provided|be one of|be specified|specify|provide|set)\b`),
	lazy.Regexp(`\b(?:no|missing|invalid|unknown|unsupported|bad|wrong|required|unrecogni[sz]ed|unexpected|too (?:few|many))\b (?:\S+ ){0,3}(?:mode|config|configuration|setting|argument|option|flag|parameter|command|subcommand|transport|profile|value|positional|region|account|project|workspace id|model|database url|connection string)s?\b`),
	lazy.Regexp(`\bno \w+(?: \w+)? (?:is |are |was |were |has been |have been )?(?:configured|specified|given|provided|selected|defined)\b|\bnot (?:configured|specified)\b|\bno such option\b|\brequired (?:option|argument|flag|parameter)|arguments? (?:are|is) required|\bis required\b|^usage:|\busage error\b`),
	// its code
	lazy.Regexp(`^(?:syntax|name|attribute|reference|indentation|assertion|zerodivision|index|notimplemented|unboundlocal)error\b|\bis not a function\b|\bis not defined\b|\bunexpected (?:token|identifier|end of input|indent)|\bhas no attribute\b|\bdivision by zero\b|cannot import name|\bassertion failed\b`),
	lazy.Regexp(`\beaddrinuse\b|address already in use|requires? (?:node|python|java|go|ruby)\b|unsupported (?:engine|class file)|\bout of memory\b`),
}

// NamesOwnFault reports whether a line names a cause that no refusal has: what the program lacks or
// was given wrongly, a certificate, or a fault of its code.
func NamesOwnFault(line string) bool {
	if isAboutCertificate(line) {
		return true
	}
	switch f, _ := MatchFault(line); f {
	case Refused, ReadOnly, Busy, Network:
		return false
	}
	lower := strings.ToLower(line)
	for _, words := range ownFault {
		if words().MatchString(lower) {
			return true
		}
	}
	return askAfter().MatchString(line) || askBefore().MatchString(line)
}

func isAboutCertificate(line string) bool { return ContainsAny(strings.ToLower(line), distrusted) }

// SaysFailure reports whether a line says that something failed, and more than that.
func SaysFailure(line string) bool {
	lower := strings.ToLower(line)
	return ContainsAny(lower+" ", failureWords) && slices.ContainsFunc(strings.FieldsFunc(lower, notLetter), func(word string) bool { return !slices.Contains(vagueWords, word) })
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// vagueWords are what an error that tells nothing consists of.
var vagueWords = []string{
	"a", "an", "and", "as", "at", "be", "by", "call", "called", "calling", "can", "cannot", "code", "command", "complete", "completed", "continue", "could", "did", "do",
	"due", "during", "ended", "error", "errors", "exception", "execute", "executing", "execution", "exit", "exited", "exiting", "fail", "failed", "failure", "fatal", "for", "has",
	"in", "initialise", "initialize", "internal", "is", "it", "its", "main", "mcp", "not", "occurred", "of", "on", "operation", "please", "process", "request", "response",
	"run", "running", "server", "something", "start", "started", "starting", "startup", "status", "task", "the", "this", "to", "tool", "try", "unable", "unexpected", "unhandled", "unknown", "was",
	"went", "while", "with", "wrong", "again", "s", "t", "rejection", "promise", "uncaught", "panic", "aborted", "abort",
}
