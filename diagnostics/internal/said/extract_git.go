package said

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// git's messages name places in their own phrases. The named path is seldom the
// right one for a rule, because git reads and writes in its whole directory.
var (
	// fatal: not a git repository: /x/.git/worktrees/y   (the target of a worktree's pointer)
	gitPointer = lazy.Regexp(`not a git repository: (\S.*)$`)
	// error: insufficient permission for adding an object to repository database .git/objects
	// error: could not lock config file .git/config: Read-only file system
	gitLock    = lazy.Regexp(`could not lock config file (\S.*): [A-Z]`)
	gitAround  = lazy.Regexp(`not a git repository \(or any (?:of the parent directories|parent up to mount point (/.*))\)`)
	gitObjects = lazy.Regexp(`insufficient permission for adding an object to repository database (\S.*)$`)
)

func gitReferences(line string, f Fault) []Reference {
	if m := gitPointer().FindStringSubmatch(line); m != nil {
		return []Reference{pathReference(Absent, "read", m[1])}
	}
	if m := gitObjects().FindStringSubmatch(line); m != nil {
		return []Reference{pathReference(Refused, "write", m[1])}
	}
	if m := gitLock().FindStringSubmatch(line); m != nil {
		return []Reference{pathReference(f, "create", m[1]+".lock")}
	}
	if m := gitAround().FindStringSubmatch(line); m != nil {
		return []Reference{{Kind: Repository, Name: m[1], Fault: Absent}}
	}
	if strings.Contains(line, "fatal: not in a git directory") {
		return []Reference{{Kind: Repository, Fault: Absent}}
	}
	return nil
}

// AllowListPhrases are phrases, in lower case, of servers that refuse a path by a list of
// their own. The words around them often resemble an error of the kernel.
var AllowListPhrases = []string{
	"outside allowed", "outside of allowed", "outside the allowed", "outside of the allowed", "not in allowed", "not within allowed", "not an allowed", "not in the allowed", "not within the allowed",
	"allowed director", "allowed path", "allowed root", "allow list", "allowlist", "allow-list", "whitelist", "disallowed", "outside the workspace", "outside of the workspace", "outside workspace",
	"outside the project", "outside of the project", "outside the root", "outside root", "outside the sandbox", "path traversal", "access restricted to",
}

// remotePhrases are phrases of refusals by remote programs: the other end of ssh,
// databases, remote procedures.
var remotePhrases = []string{
	"permission denied (", "permission denied, please try again", "access denied for user", "rpc error:", "permission denied for ", "permission denied to ", "authentication failed", "authorization failed",
	"service: amazon", "bad credentials", "resource not accessible by",
}

// httpStatus matches the status of an HTTP response.
var httpStatus = lazy.Regexp(`(?i)\b(?:http[/ 0-9.]*|status(?: code)?|statuscode|code|error|returned|response)["']?[:= (]*\b[45]\d\d\b|\b[45]\d\d:? (?:bad request|unauthorized|payment required|forbidden|not found|method not allowed|conflict|gone|too many requests|internal server error|bad gateway|service unavailable|gateway timeout)`)

// RefusedElsewhere reports whether a line describes a refusal by the server itself or by a
// service that it asked, and not by the kernel.
func RefusedElsewhere(line string) bool {
	lower := strings.ToLower(line)
	switch {
	case ContainsAny(lower, AllowListPhrases):
		return true
	case HasWord(line, "EACCES"), HasWord(line, "EPERM"), HasWord(line, "EROFS"), strings.Contains(line, "[Errno "), strings.Contains(lower, "os error "), strings.Contains(lower, "tunnel connection failed"):
		return false
	case ContainsAny(lower, remotePhrases):
		return true
	}
	return httpStatus().MatchString(line)
}
