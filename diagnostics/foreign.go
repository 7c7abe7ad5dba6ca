package diagnostics

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// ownLists are how servers refuse by a list of their own, in lower case: the words
// around them are often those of a kernel.
var ownLists = []string{
	"outside allowed", "outside of allowed", "outside the allowed", "outside of the allowed", "not in allowed", "not within allowed", "not an allowed", "not in the allowed", "not within the allowed",
	"allowed director", "allowed path", "allowed root", "allow list", "allowlist", "allow-list", "whitelist", "disallowed", "outside the workspace", "outside of the workspace", "outside workspace",
	"outside the project", "outside of the project", "outside the root", "outside root", "outside the sandbox", "path traversal", "access restricted to",
}

// otherSides are refusals of programs that nobody's kernel has a part in: those of ssh's
// other end, of databases, of remote procedures.
var otherSides = []string{
	"permission denied (", "permission denied, please try again", "access denied for user", "rpc error:", "permission denied for ", "permission denied to ", "authentication failed", "authorization failed",
	"service: amazon", "bad credentials", "resource not accessible by",
}

// httpStatus is the answer of a server of the web.
var httpStatus = lazy{text: `(?i)\b(?:http[/ 0-9.]*|status(?: code)?|statuscode|code|error|returned|response)["']?[:= (]*\b[45]\d\d\b|\b[45]\d\d:? (?:bad request|unauthorized|payment required|forbidden|not found|method not allowed|conflict|gone|too many requests|internal server error|bad gateway|service unavailable|gateway timeout)`}

// foreign tells a line whose refusal, if it speaks of one, is not that of a kernel: the
// server's own, or that of a service that it asked.
func foreign(line string) bool {
	lower := strings.ToLower(line)
	switch {
	case containsAny(lower, ownLists):
		return true
	case hasName(line, "EACCES"), hasName(line, "EPERM"), hasName(line, "EROFS"), strings.Contains(line, "[Errno "), strings.Contains(lower, "os error "), strings.Contains(lower, "tunnel connection failed"):
		return false
	case containsAny(lower, otherSides):
		return true
	}
	return httpStatus.re().MatchString(line)
}

// rooted says why the server itself refuses a path: it was given roots by the client,
// and takes nothing else. ok is false where the text says no such thing.
func (j *judge) rooted(lines []string) (v verdict, ok bool) {
	if len(j.ev.Roots) == 0 {
		return v, false
	}
	for _, line := range lines {
		if !containsAny(strings.ToLower(line), ownLists) {
			continue
		}
		for _, m := range vaguePaths(line, faultRefused) {
			path, absolute := j.absolute(m.name)
			if !absolute {
				continue
			}
			if j.inRoots(path) {
				break // the first path of such a line is the one that was refused
			}
			var roots []string
			for _, r := range j.ev.Roots[:min(len(j.ev.Roots), 5)] {
				roots = append(roots, j.show(r))
			}
			return verdict{
				note: "the server itself refuses " + j.show(path) + ": the client has given it " + strings.Join(roots, ", ") + " as its roots, and it allows nothing outside of them",
				fix:  "open that directory in the client as well; no line of a policy changes it",
			}, true
		}
	}
	return v, false
}

func (j *judge) inRoots(path string) bool {
	for _, r := range j.ev.Roots {
		if policy.Within(path, r) || policy.Within(j.canonical(path), j.canonical(r)) {
			return true
		}
	}
	return false
}
