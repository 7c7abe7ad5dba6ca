package said

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// Failure is what kind of failure the words of a server tell of. Words that name something are
// analyzed by name; this is for those that name nothing.
type Failure struct {
	Wordless bool // there are no words, or none that say anything
	Lacks    bool // something was not found, or was not allowed
	File     bool // and it is a file or the like
	Named    bool // such a line names a file or path itself
	Network  bool // a connection or a lookup failed
	Access   bool // credentials are missing or were not accepted
	Other    bool // the words have a cause of their own: a wrong argument, an answer of a service, a fault of the program
}

// emptyWords are what is left of messages that say nothing, without their prefixes, in lower case and
// without other characters than letters and blanks.
var emptyWords = map[string]bool{
	"": true, "error": true, "errors": true, "unknown error": true, "internal error": true, "undefined": true, "null": true, "object object": true,
	"failed": true, "failure": true, "aggregateerror": true, "an error occurred": true, "an unknown error occurred": true, "an unexpected error occurred": true,
	"something went wrong": true, "unexpected error": true, "unhandled error": true, "none": true, "exception": true, "request failed": true, "query failed": true,
	"tool execution failed": true, "tool call failed": true, "execution failed": true, "operation failed": true, "mcp error": true,
}

// emptyPrefix matches what frameworks write before the message of an error: "Error executing tool
// query: ", "MCP error -32603: ", "Error: ".
var emptyPrefix = lazy.Regexp(`(?i)^(?:error (?:executing|calling|running|invoking|in)(?: tool)?:? ['"]?[\w./-]+['"]?:?|(?:failed|unable) to (?:execute|call|run)(?: tool)? ['"]?[\w./-]+['"]?:?|tool ['"]?[\w./-]+['"]? (?:failed|error|execution failed):?|mcp error -?\d+:?|(?:internal |unknown )?error:|exit(?:ed with)? (?:code|status) \d+)\s*`)

var (
	// fileWords say that something is missing or closed, beside the signatures of MatchFault.
	fileWords = []string{
		"could not find", "cannot find", "can't find", "couldn't find", "unable to find", "failed to find", "unable to locate", "could not locate", "cannot locate", "failed to locate",
		"could not load", "cannot load", "can't load", "couldn't load", "unable to load", "failed to load", "error loading",
		"could not open", "cannot open", "can't open", "unable to open", "failed to open", "could not read", "cannot read", "can't read", "couldn't read", "unable to read", "failed to read", "error reading", "error opening",
		"could not access", "failed to access", "not readable", "is missing", "missing file", "missing director", "no such director", "not a valid director", "invalid director", "invalid path", "not a director", "is not a file", "not a valid file",
	}
	fileNouns = []string{
		"file", "director", "folder", "path", "config", "database", "certificate", "keystore", "keyfile", "key file", "credential", "class", "librar", "model", "index", "schema", "template",
		"vault", "repository", "repo", "workspace", "data", "dataset", "settings", "notebook", "collection", "catalog", "store", "root",
	}
	networkWords = []string{
		"connection error", "connection failed", "connection refused", "connection reset", "connection closed", "connection terminated", "connection timed out", "connection timeout", "connection lost", "connection attempts failed",
		"cannot connect", "can't connect", "could not connect", "couldn't connect", "unable to connect", "failed to connect", "not connected", "connect to server", "connect to the server", "connecting to",
		"network error", "network request failed", "network failure", "network problem", "networkerror", "err_network", "socket hang up", "econnreset", "etimedout", "epipe", "econnaborted", "enetdown", "request timed out", "request timeout", "timed out connecting", "connect timeout",
		"server selection", "max retries exceeded", "unreachable", "not reachable", "is the server running", "no response from", "no response received", "connecttimeout", "readtimeout", "connecterror", "connectionerror", "operationalerror", "server has gone away", "server not responding", "offline", "name resolution", "dns lookup", "failed to reach", "could not reach", "cannot reach", "unable to reach", "error communicating with",
	}
	accessWords = []string{
		"unauthorized", "unauthenticated", "not authenticated", "authentication", "authenticate", "authorization", "not authorized", "not logged in", "log in", "login", "sign in", "signed in", "credential", "api key", "api_key", "apikey", "api-key", "access key", "access token", "auth token", "token", "password", "secret", "permission denied (publickey", "forbidden", "401", "403",
		"default profile", "no profile", "agent", "kubeconfig", "docker daemon", "current-context", "region",
	}
	// otherWords show a cause that has nothing to do with what a policy refuses.
	otherWords = []string{
		"usage:", "unknown option", "unrecognized option", "unrecognized argument", "unknown flag", "unknown argument", "unknown command", "unexpected argument", "unexpected option", "arguments are required", "too many arguments", "invalid argument", "invalid option", "invalid value", "invalid input", "invalid parameter", "invalid params", "invalid type", "invalid request", "invalid json", "invalid query", "invalid syntax", "invalid format", "invalid date", "invalid url", "invalid regex", "invalid enum",
		"validation", "must be", "must provide", "must not", "must have", "must specify", "must contain", "is required", "are required", "required parameter", "required argument", "missing required", "missing argument", "missing parameter", "missing field", "unexpected token", "unexpected end", "unexpected keyword", "syntax error", "syntaxerror", "parse error", "parsing", "unknown tool", "unknown method", "unknown resource", "unknown prompt", "unknown column", "unknown field",
		"not supported", "unsupported", "not implemented", "is not a function", "is not defined", "is not iterable", "cannot read propert", "of undefined", "of null", "typeerror", "referenceerror", "keyerror", "valueerror", "attributeerror", "indexerror", "nonetype", "zerodivision", "division by zero", "nil pointer", "out of range", "out of bounds", "rate limit", "too many requests", "quota", "already exists", "already in use", "eaddrinuse", "duplicate", "conflict", "constraint", "does not match", "do not match", "no match", "no results", "ambiguous", "assertion", "overflow", "out of memory", "heap", "segmentation fault", "cancelled", "canceled", "aborted by", "element", "selector", "deadlock", "relation \"", "no such table", "no such column", "no such function",
	}
)

// otherName matches a name in quotes or a path: it is what was not found.
var otherName = lazy.Regexp("['\"`‘“][^'\"`’”]{1,200}['\"`’”]|(?:^|[\\s(=:])(?:[.~]?/|[A-Za-z]:\\\\)[^\\s,;)]+|\\b[\\w-]+\\.(?:[A-Za-z][\\w]{1,4})\\b")

// serverNouns are what a time-out of the network is about. Browsers and tests wait for other things.
var serverNouns = []string{"connect", "request", "fetch", "server", "network", "socket", "host", "http", "api", "response", "query"}

// FailureOf classifies the words of a failure: lines in the order of OrderByRelevance.
func FailureOf(lines []string) (f Failure) {
	f.Wordless = true
	for _, line := range lines {
		if line = strings.TrimSpace(line); isEmptyWord(line) {
			continue
		}
		f.Wordless = false
		if IsStackFrame(line) {
			continue
		}
		lower := strings.ToLower(line)
		fault, _ := MatchFault(line)
		elsewhere := RefusedElsewhere(line)
		f.Access = f.Access || ContainsAny(lower, accessWords)
		timeout := (strings.Contains(lower, "timed out") || strings.Contains(lower, "timeout")) && ContainsAny(lower, serverNouns)
		lacks := fault != NoFault || ContainsAny(lower, fileWords)
		switch {
		case elsewhere:
			f.Other = true
		case fault == Network || timeout || ContainsAny(lower, networkWords):
			f.Network = true
		case ContainsAny(lower, otherWords):
			f.Other = true
		case lacks:
			// "Issue not found" is about no file.
			file := fault != NoFault && fault != Absent || HasWord(line, "ENOENT") || strings.Contains(lower, "no such file") || ContainsAny(lower, fileNouns)
			f.File, f.Lacks = f.File || file, true
			f.Named = f.Named || otherName().MatchString(line)
		}
	}
	return f
}

// unauthorized matches the answer of a service that got no credentials, or wrong ones.
var unauthorized = lazy.Regexp(`(?i)\b(?:http|status|code|error|returned|response)\b[^0-9\n]{0,20}401\b|\b401\b[\s:({"-]*unauthori[sz]ed`)

// Unauthorized reports whether a line has the status of a request without valid credentials.
func Unauthorized(line string) bool { return unauthorized().MatchString(line) }

func isEmptyWord(line string) bool {
	for {
		rest := emptyPrefix().ReplaceAllString(line, "")
		if rest == line {
			break
		}
		line = rest
	}
	letters := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r == ' ' || r > 0x7f:
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, line)
	return emptyWords[strings.Join(strings.Fields(letters), " ")]
}

// MentionsWord reports whether a word is in one of lines as a whole word, in any case.
func MentionsWord(lines []string, word string) bool {
	if len(word) < 3 {
		return false
	}
	word = strings.ToLower(word)
	for _, line := range lines {
		if standsApart(strings.ToLower(line), word, func(c byte) bool { return isWordByte(c) }, "") {
			return true
		}
	}
	return false
}
