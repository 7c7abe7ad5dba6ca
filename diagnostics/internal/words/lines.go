// Package words reads what a failing server says: which lines tell of the failure, which fault they
// name, and which paths, hosts, variables and programs are in them. It knows no policy: whether the
// jail refuses a name is decided elsewhere. It is pure. Begin at [Lines] and [Names].
package words

import (
	"slices"
	"strings"

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
	splitsWord = show.Pattern(`[\w/.~-][\x{fffd}\x1b]+[\w/.~-]`)
	// noise are lines that do not say what failed: frames of stack traces, and excerpts of the source.
	noise = show.Pattern(`^(?:$|at |File "|node:internal|goroutine \d|from \S+:\d+:in |Traceback \(most recent|Node\.js v\d|Bun v\d|[^\pL\pN]+$|throw (?:err|er);|npm (?:error|ERR!) A complete log)`)
)

// Importers returns the files that a text says to import a module: of Python's trace, and of node's list.
func Importers(text string) (files []string) {
	for _, m := range importer().FindAllStringSubmatch(text, 12) {
		files = append(files, m[1]+m[2])
	}
	return files
}

var importer = show.Pattern(`(?m)^\s*File "(/[^"]+)", line \d|^- (/.+)$`)

// Ending returns the last n lines that are no frames of a stack trace, and of those before it, first, the one that says
// what failed.
func Ending(lines []string, n int) (last []string) {
	for _, line := range lines {
		if !noise().MatchString(strings.TrimSpace(line)) {
			last = append(last, line)
		}
	}
	cut := max(0, len(last)-n)
	if cut > 0 && !slices.ContainsFunc(last[cut:], errorHead().MatchString) {
		last[cut] = ErrorText(last[:cut+1])
	}
	return last[cut:]
}

// ErrorText returns the line that says what failed: the last one that names an error, else the last.
func ErrorText(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if errorHead().MatchString(lines[i]) {
			return strings.TrimSpace(lines[i])
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

var errorHead = show.Pattern(`(?i)^(?:[\w.$]*(?:error|exception|panic|fatal)\b|caused by:|uncaught )|\berror:|\bfailed\b|\bcannot\b|\bpermission denied\b`)

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
	return Foreign(line) || ContainsAny(strings.ToLower(line), ownFault)
}

// Foreign reports whether a line says for itself why something failed, and that is nothing which a jail refuses: a service
// that answered, a certificate, a password, the user's rights, a module, a port or a disk.
func Foreign(line string) bool {
	return Elsewhere(line) || Distrusts(line) || MatchFault(line) == NoFault && ContainsAny(strings.ToLower(line), foreign)
}

// OwnList reports whether a line tells that the server has refused a path by a list of its own.
func OwnList(line string) bool { return ContainsAny(strings.ToLower(line), ownList) }

var (
	ownList    = []string{"outside allowed", "outside of allowed", "outside the allowed", "outside of the allowed", "not in allowed", "not within allowed", "not in the allowed", "not within the allowed", "allowed director", "allowed path", "allowed root", "allowlist", "allow list", "whitelist", "outside the workspace", "outside workspace", "outside the project", "outside root", "path traversal"}
	remote     = []string{"permission denied (", "permission denied, please try again", "access denied for user", "rpc error:", "permission denied for ", "permission denied to ", "authentication failed", "bad credentials", "resource not accessible by"}
	ownFault   = []string{"invalid", "required", "must be", "syntax", "unexpected", "not a function", "is not defined", "unknown tool", "is configured", "usage:", "api key"}
	foreign    = []string{"certificate", "password", "unauthorized", "forbidden", "superuser", "must be root", "no module named", "cannot find module", "cannot find package", "cannot load such file", "already in use", "no space left", "rate limit", "quota"}
	httpStatus = show.Pattern(`(?i)\b(?:http[/ 0-9.]*|status(?: code)?|code|error|returned|response)["']?[:= (]*\b[45]\d\d\b|\b[45]\d\d:? (?:bad request|unauthorized|forbidden|not found|conflict|gone|too many requests|internal server error|bad gateway|service unavailable)`)
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

// Fault is the kind of a refusal that a line of text describes.
type Fault uint8

const (
	NoFault  Fault = iota
	Absent         // "no such file", also for a path that the jail hides
	Refused        // EACCES, EPERM
	ReadOnly       // EROFS
	Busy           // EBUSY: a name that is a mount point cannot be moved or replaced
	Network        // names do not resolve or connections fail
)

// faultSignatures lists what runtimes print for a fault: names, which must match exactly as words (FileNotFoundError is not
// ENOTFOUND), and phrases in lower case. The first group that matches determines the fault.
//
// EPERM and network faults mostly have causes other than a jail, so a signature alone is never more than Possible.
var faultSignatures = []struct {
	fault Fault
	names []string
	words []string
}{
	{ReadOnly, []string{"EROFS"}, []string{"read-only file system", "readonly file system", "os error 30", "errno 30]", "readonly database", "readonlyfilesystem"}},
	{Refused, []string{"EPERM", "EACCES", "PermissionDenied", "PermissionError"}, []string{
		"operation not permitted", "os error 1)", "os { code: 1,", "errno 1]", "not permitted", "file system sandbox blocked", "permission denied",
		"insufficient permission for adding", "accessdenied", "access denied", "is denied", "unauthorizedaccess", "os error 13)", "os { code: 13,",
		"errno 13]", "err_access_denied", "sqlite_cantopen", "unable to open database file",
	}},
	{Busy, []string{"EBUSY"}, []string{"resource busy", "os error 16)", "os { code: 16,", "errno 16]"}},
	{Network, []string{"EAI_AGAIN", "ENOTFOUND", "EAI_FAIL", "EAI_NODATA", "EAI_NONAME", "ENETUNREACH", "EHOSTUNREACH", "ENOTCACHED", "ECONNREFUSED"}, []string{
		"temporary failure in name resolution", "temporary failure resolving", "getaddrinfo", "no such host", "could not resolve", "couldn't resolve",
		"cannot resolve", "failed to resolve", "unable to resolve", "name or service not known", "nodename nor servname", "name_not_resolved",
		"nameresolutionerror", "unknownhostexception", "failed to lookup address", "dns error", "could not translate host name", "network is unreachable",
		"no route to host", "err_internet_disconnected", "err_address_unreachable", "network_unreachable", "only-if-cached", "connection refused",
		"connectionrefused", "err_connection_refused", "tunnel connection failed: 403", "proxyerror", "connect tunnel failed, response 40",
		"from proxy after connect", "proxy response (40", "proxy authentication required", "proxyconnect tcp", "fetch failed", "failed to fetch",
		"error trying to connect", "failed to connect", "could not connect", "couldn't connect", "can't connect to", "cannot connect to host",
		"connect call failed", "failed, reason:", "refused. check that the hostname", "und_err_connect", "connect etimedout", "connect timeout",
		"i/o timeout", "err_connection_timed_out", "err_tunnel_connection_failed", "error sending request for url", "newconnectionerror",
		"connecttimeouterror", "apiconnectionerror", "urlopen error", "dial tcp", "dial udp",
	}},
	{Absent, []string{"ENOENT", "ENOTDIR"}, []string{
		"no such file", "not a directory", "directory nonexistent", "nosuchfile", "filenotfound", "os error 2)", "os { code: 2,", "errno 2]",
		"cannot find the path", "could not find a part of the path", "could not find file", "err_file_not_found", "cannot find the file", "does not exist",
		"doesn't exist", "not found", "can't cd to", "couldn't open file", "cannot access", "could not access", "unable to access", "not accessible",
		"inaccessible",
	}},
}

// MatchFault returns the fault that a line describes.
func MatchFault(line string) Fault {
	lower := strings.ToLower(line)
	for _, s := range faultSignatures {
		if slices.ContainsFunc(s.names, func(n string) bool { return HasWord(line, n) }) || ContainsAny(lower, s.words) {
			return s.fault
		}
	}
	return NoFault
}

// LacksFile reports whether a line tells of a file that was not found or not opened, and of nothing else.
func LacksFile(line string) bool {
	f := MatchFault(line)
	return !Elsewhere(line) && (f == Refused || f == ReadOnly || f == Absent && (HasWord(line, "ENOENT") || ContainsAny(strings.ToLower(line), []string{"no such file", "os error 2)", "filenotfound", "main class"})))
}

// HasWord reports whether name is in line as a separate word.
func HasWord(line, name string) bool { return standsApart(line, name, isWordByte, "") }

// HasName reports whether the name of a file or a host is in a line, with nothing of such a name before and after it.
func HasName(line, name string) bool {
	isPart := func(c byte) bool { return isWordByte(c) || c == '-' || c == '/' && strings.Contains(name, "/") }
	return standsApart(line, name, isPart, "")
}

// standsApart reports whether name is in line, with no byte of its kind before and after it. What
// ends with prefix may be before it.
func standsApart(line, name string, isPart func(byte) bool, prefix string) bool {
	for from := 0; ; {
		at := strings.Index(line[from:], name)
		if at < 0 {
			return false
		}
		at += from
		from = at + len(name)
		if (at == 0 || !isPart(line[at-1]) || prefix != "" && strings.HasSuffix(line[:at], prefix)) && (from == len(line) || !isPart(line[from])) {
			return true
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// ContainsAny reports whether s contains one of words.
func ContainsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
