package diagnostics

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// allowListPhrases are how servers refuse by a list of their own, in lower case: the words
// around them are often those of a kernel.
var allowListPhrases = []string{
	"outside allowed", "outside of allowed", "outside the allowed", "outside of the allowed", "not in allowed", "not within allowed", "not an allowed", "not in the allowed", "not within the allowed",
	"allowed director", "allowed path", "allowed root", "allow list", "allowlist", "allow-list", "whitelist", "disallowed", "outside the workspace", "outside of the workspace", "outside workspace",
	"outside the project", "outside of the project", "outside the root", "outside root", "outside the sandbox", "path traversal", "access restricted to",
}

// remotePhrases are refusals of programs that nobody's kernel has a part in: those of ssh's
// other end, of databases, of remote procedures.
var remotePhrases = []string{
	"permission denied (", "permission denied, please try again", "access denied for user", "rpc error:", "permission denied for ", "permission denied to ", "authentication failed", "authorization failed",
	"service: amazon", "bad credentials", "resource not accessible by",
}

// httpStatus is the answer of a server of the web.
var httpStatus = lazyRegexp{text: `(?i)\b(?:http[/ 0-9.]*|status(?: code)?|statuscode|code|error|returned|response)["']?[:= (]*\b[45]\d\d\b|\b[45]\d\d:? (?:bad request|unauthorized|payment required|forbidden|not found|method not allowed|conflict|gone|too many requests|internal server error|bad gateway|service unavailable|gateway timeout)`}

// refusedElsewhere tells a line whose refusal, if it speaks of one, is not that of a kernel: the
// server's own, or that of a service that it asked.
func refusedElsewhere(line string) bool {
	lower := strings.ToLower(line)
	switch {
	case containsAny(lower, allowListPhrases):
		return true
	case hasWord(line, "EACCES"), hasWord(line, "EPERM"), hasWord(line, "EROFS"), strings.Contains(line, "[Errno "), strings.Contains(lower, "os error "), strings.Contains(lower, "tunnel connection failed"):
		return false
	case containsAny(lower, remotePhrases):
		return true
	}
	return httpStatus.re().MatchString(line)
}

// outsideRoots says why the server itself refuses a path: it was given roots by the client,
// and takes nothing else. ok is false where the text says no such thing.
func (a *analyzer) outsideRoots(lines []string) (f finding, ok bool) {
	path := a.refusedByServer(lines)
	if path == "" || a.rootOf(path) != "" {
		return f, false
	}
	var roots []string
	for _, r := range a.ev.Roots[:min(len(a.ev.Roots), 5)] {
		roots = append(roots, a.quote(r))
	}
	return finding{
		note: "the server itself refuses " + a.show(path) + ": the client has given it " + strings.Join(roots, ", ") + " as its roots, and it allows nothing outside of them",
		fix:  "open that directory in the client as well; no line of a policy changes it",
	}, true
}

// ungrantedRoot judges a refusal of the server's own of what lies in a root that the client
// has given it: servers leave out the roots that they cannot see.
func (a *analyzer) ungrantedRoot(lines []string) finding {
	path := a.refusedByServer(lines)
	root := a.rootOf(path)
	if root == "" || a.allows(policy.OpRead, a.canonical(path)) || a.exists(root) != present || a.isTooWide(a.canonical(root)) {
		return finding{}
	}
	return a.withhold(a.attributePath(Likely, a.canonical(root), policy.Read, false,
		"the client has given the server "+a.show(root)+" as a root, which the policy does not let it read"), false)
}

// refusedByServer is the path that a server with roots says is not in a list of its own;
// "" where it says no such thing.
func (a *analyzer) refusedByServer(lines []string) string {
	if len(a.ev.Roots) == 0 {
		return ""
	}
	for _, line := range lines {
		if !containsAny(strings.ToLower(line), allowListPhrases) {
			continue
		}
		// The first path of such a line is the one that was refused.
		for _, ref := range vaguePaths(line, faultRefused) {
			if path, ok := a.absolute(ref.name); ok {
				return path
			}
		}
	}
	return ""
}

// rootOf is the client's root that path lies in; "" where it lies in none.
func (a *analyzer) rootOf(path string) string {
	for _, r := range a.ev.Roots {
		if path != "" && (policy.Within(path, r) || policy.Within(a.canonical(path), a.canonical(r))) {
			return r
		}
	}
	return ""
}
