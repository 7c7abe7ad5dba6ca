package diagnostics

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// homeOfServer explains that the server itself refuses a path in its private HOME: the model wrote
// a "~" in a call, and meant the user's home. ok is false for any other path.
func (a *analyzer) homeOfServer(path string) (f finding, ok bool) {
	home := a.profile.Home
	if !a.profile.HomePrivate || home == "" || a.ev.UserHome == "" || !policy.Within(path, home) {
		return f, false
	}
	return finding{
		note: "the server itself refuses " + a.show(path) + ", which is in its private HOME: in the jail a ~ does not stand for your home directory",
		fix:  "write the whole path into the call, " + a.quote(a.ev.UserHome+path[len(home):]) + "; no policy line changes this",
		hint: Hint{Explain: PagePathArg},
	}, true
}

// outsideRoots explains that the server itself refuses a path because it is outside of the
// roots that the client gave it. ok is false where the text does not say so.
func (a *analyzer) outsideRoots(lines []string) (f finding, ok bool) {
	path := a.refusedByServer(lines)
	if f, ok = a.homeOfServer(path); ok {
		return f, true
	}
	if path == "" || len(a.ev.Roots) == 0 || a.rootOf(path) != "" {
		return f, false
	}
	var roots []string
	for _, r := range a.ev.Roots[:min(len(a.ev.Roots), 5)] {
		roots = append(roots, a.quote(r))
	}
	return finding{
		note: "the server itself refuses " + a.show(path) + ": the client has given it " + strings.Join(roots, ", ") + " as its roots, and it allows nothing outside of them",
		fix:  "open that directory in the client as well; no policy line changes this",
	}, true
}

// ungrantedRoot returns the finding for a path that the server itself refuses although it
// is in one of the client's roots. Servers ignore the roots that they cannot see.
func (a *analyzer) ungrantedRoot(lines []string) finding {
	path := a.refusedByServer(lines)
	root := a.rootOf(path)
	if root == "" || a.allows(policy.OpRead, a.canonical(path)) || a.exists(root) != present || a.isTooWide(a.canonical(root)) {
		return finding{}
	}
	return a.withhold(a.attributePath(Likely, a.canonical(root), policy.Read, false,
		"the client has given the server "+a.show(root)+" as a root, which the policy does not let it read"), false)
}

// refusedByServer returns the path that a server with roots says is not in a list of its
// own, or "".
func (a *analyzer) refusedByServer(lines []string) string {
	for _, line := range lines {
		if !said.ContainsAny(strings.ToLower(line), said.AllowListPhrases) {
			continue
		}
		// The first path of such a line is the refused one.
		for _, ref := range said.VaguePaths(line, said.Refused) {
			if path, ok := a.absolute(ref.Name); ok && !a.escaped.Breaks(line, ref) {
				return path
			}
		}
	}
	return ""
}

// rootOf returns the client's root that contains path, or "".
func (a *analyzer) rootOf(path string) string {
	for _, r := range a.ev.Roots {
		if path != "" && (policy.Within(path, r) || policy.Within(a.canonical(path), a.canonical(r))) {
			return r
		}
	}
	return ""
}
