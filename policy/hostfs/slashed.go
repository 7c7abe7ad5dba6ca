package hostfs

import (
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Within reports whether an absolute path is a directory or lies in it, by their names, on a system as in
// runtime.GOOS. It follows no links.
func Within(system, path, dir string) bool {
	if system == "windows" {
		return WithinWindows(path, dir)
	}
	return policy.Within(path, dir)
}

// HasProtectedName is [policy.HasProtectedName] for a path of a system as in runtime.GOOS.
func HasProtectedName(system, path string) bool {
	if system == "windows" {
		path = Slashed(path)
	}
	return policy.HasProtectedName(path)
}

// CutHome returns what follows ~/ in a path that a user has typed on a system as in runtime.GOOS. On Windows
// ~\ is the same. ok reports whether the path begins with it.
func CutHome(system, path string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(path, `~\`); ok && system == "windows" {
		return rest, true
	}
	return strings.CutPrefix(path, "~/")
}

// WithinWindows reports whether an absolute path is a directory or lies in it, by their names. Slashes count as
// backslashes, and names have no case.
func WithinWindows(path, dir string) bool {
	path, dir = strings.ToLower(Slashed(path)), strings.ToLower(Slashed(dir))
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(dir, "/"))
}

// Slashed returns the form of a path for code that compares names between slashes: /C:/Users/u. It has
// the names that Windows looks for, without a stream, and without dots and blanks at their end. That of
// another machine is //server/share, and a relative path stays relative. A path that has the form keeps it.
// So Slashed is no check: see [CleanWindows].
func Slashed(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if _, slashed := fromSlashed(p); slashed { // no name of Windows has a colon
		p = p[1:]
	}
	for _, prefix := range []string{"//?/", "//./", "/??/"} {
		if rest, ok := strings.CutPrefix(p, prefix); ok {
			if p = rest; len(rest) > 3 && strings.EqualFold(rest[:4], "UNC/") {
				p = "/" + rest[3:]
			}
		}
	}
	root := ""
	switch {
	case len(p) > 1 && isLetter(p[0]) && p[1] == ':':
		root, p = "/"+strings.ToUpper(p[:2]), "/"+strings.TrimLeft(p[2:], "/")
	case strings.HasPrefix(p, "//"):
		root, p = "/", p[1:]
	}
	names := strings.Split(path.Clean(p), "/")
	for i, name := range names {
		if file, _, _ := strings.Cut(name, ":"); name != "." && name != ".." {
			names[i] = strings.TrimRight(file, ". ")
		}
	}
	if p = strings.Join(names, "/"); p == "/" && root != "" {
		p = "" // the root of a drive
	}
	return root + p
}

// fromSlashed returns the path on a drive for the form that [Slashed] has made of it. ok is false for
// every other path.
func fromSlashed(p string) (path string, ok bool) {
	if len(p) < 3 || p[0] != '/' || !isLetter(p[1]) || p[2] != ':' || len(p) > 3 && p[3] != '/' {
		return "", false
	}
	return p[1:3] + `\` + strings.ReplaceAll(strings.TrimPrefix(p[3:], "/"), "/", `\`), true
}
