// Package words reads what a failing server says: which lines tell of the failure, which fault they
// name, and which paths, hosts, variables and programs are in them. It knows no policy: whether the
// jail refuses a name is decided elsewhere.
package words

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

const (
	maxLines = 400     // lines that are read
	maxLine  = 2 << 10 // bytes of a line that are read
	maxText  = 128 << 10
)

// Lines returns the lines of a text that may say what failed, without escape sequences, frames of
// stack traces and excerpts of source.
//
// Invariant: no line counts that has an escape sequence inside a word. Without the sequence the word
// would name something else.
func Lines(text string) (lines []string) {
	// Results often carry an error with its line breaks escaped once more.
	text = strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", "\r", "\n").Replace(text[max(0, len(text)-maxText):])
	quotes := false // the line before says where in its source Python was
	for _, line := range strings.Split(text, "\n") {
		line = show.Cut(line, maxLine)
		if splitsWord().MatchString(show.Marked(line)) {
			continue
		}
		indented := strings.HasPrefix(line, "  ")
		line = strings.TrimSpace(show.Bare(line))
		if line != "" && !(quotes && indented) && !noise().MatchString(line) {
			lines = append(lines, line)
		}
		quotes = strings.HasPrefix(line, `File "`)
	}
	return lines[max(0, len(lines)-maxLines):]
}

var (
	// splitsWord matches an escape sequence that is neither a colour beside a word nor alone.
	splitsWord = lazy.Regexp(`[\w/.~-][\x{fffd}\x1b]+[\w/.~-]`)
	// noise are lines that do not say what failed: frames of stack traces, and excerpts of the source.
	noise = lazy.Regexp(`^(?:$|at |File "|node:internal|goroutine \d|from \S+:\d+:in |Traceback \(most recent|Node\.js v\d|Bun v\d|[\^~\s]+$|throw (?:err|er);|npm (?:error|ERR!) A complete log)`)
)

// Importers returns the files that a text says to import a module: of Python's trace, and of node's list.
func Importers(text string) (files []string) {
	for _, m := range importer().FindAllStringSubmatch(text, 12) {
		files = append(files, m[1]+m[2])
	}
	return files
}

var importer = lazy.Regexp(`(?m)^\s*File "(/[^"]+)", line \d|^- (/.+)$`)

// Ending returns the last n lines that are no frames of a stack trace.
func Ending(lines []string, n int) (last []string) {
	for _, line := range lines {
		if !noise().MatchString(strings.TrimSpace(line)) {
			last = append(last, line)
		}
	}
	return last[max(0, len(last)-n):]
}

// ErrorText returns the line that says what failed: the last one that names an error, else the last.
func ErrorText(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if errorHead().MatchString(lines[i]) {
			return lines[i]
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

var errorHead = lazy.Regexp(`(?i)^(?:[\w.$]*(?:error|exception|panic|fatal)\b|caused by:|uncaught )|\berror:|\bfailed\b|\bcannot\b|\bpermission denied\b`)

// Elsewhere reports whether a line tells of a refusal by the server itself, or by a service that it
// asked, and not by the kernel.
func Elsewhere(line string) bool {
	lower := strings.ToLower(line)
	switch {
	case ContainsAny(lower, ownList):
		return true
	case HasWord(line, "EACCES"), HasWord(line, "EPERM"), HasWord(line, "EROFS"), strings.Contains(line, "[Errno "), strings.Contains(lower, "os error "), strings.Contains(lower, "tunnel connection failed"):
		return false
	case ContainsAny(lower, remote):
		return true
	}
	return httpStatus().MatchString(line)
}

// OwnFault reports whether a line names a cause that no refusal of the jail has: an answer of a service,
// a wrong argument, a fault of the program.
func OwnFault(line string) bool {
	return Elsewhere(line) || ContainsAny(strings.ToLower(line), ownFault)
}

// OwnList reports whether a line tells that the server has refused a path by a list of its own.
func OwnList(line string) bool { return ContainsAny(strings.ToLower(line), ownList) }

var (
	ownList    = []string{"outside allowed", "outside of allowed", "outside the allowed", "outside of the allowed", "not in allowed", "not within allowed", "not in the allowed", "not within the allowed", "allowed director", "allowed path", "allowed root", "allowlist", "allow list", "whitelist", "outside the workspace", "outside workspace", "outside the project", "outside root", "path traversal"}
	remote     = []string{"permission denied (", "permission denied, please try again", "access denied for user", "rpc error:", "permission denied for ", "permission denied to ", "authentication failed", "bad credentials", "resource not accessible by"}
	ownFault   = []string{"invalid", "required", "must be", "unauthorized", "forbidden", "syntax", "unexpected", "not a function", "is not defined", "unknown tool", "is configured", "usage:", "api key", "rate limit", "quota"}
	httpStatus = lazy.Regexp(`(?i)\b(?:http[/ 0-9.]*|status(?: code)?|code|error|returned|response)["']?[:= (]*\b[45]\d\d\b|\b[45]\d\d:? (?:bad request|unauthorized|forbidden|not found|conflict|gone|too many requests|internal server error|bad gateway|service unavailable)`)
)

// Distrusts reports whether a line says that no trusted authority vouches for a certificate.
func Distrusts(line string) bool {
	lower := strings.ToLower(line)
	return ContainsAny(lower, distrusted) && !ContainsAny(lower, otherCertificate)
}

var (
	distrusted = []string{
		"local issuer certificate", "unable to get issuer certificate", "the first certificate", "verify leaf signature", "self-signed certificate", "self signed certificate", "self_signed_cert", "unable_to_verify_leaf", "unable_to_get_issuer",
		"certificate verify failed", "certificate_verify_failed", "ssl certificate problem", "curl: (60)", "curl: (77)", "error setting certificate", "signed by unknown authority", "certificate is not trusted",
		"pkix path building failed", "valid certification path", "trustanchors parameter", "unknownissuer", "unknown issuer", "certificate issuer is unknown", "certificate verification failed", "remote certificate is invalid", "untrustedroot", "partialchain", "err_cert_authority_invalid",
	}
	otherCertificate = []string{"has expired", "cert_has_expired", "certificate expired", "not yet valid", "hostname mismatch", "doesn't match", "does not match", "is valid for", "not valid for", "altname", "revoked"}
)
