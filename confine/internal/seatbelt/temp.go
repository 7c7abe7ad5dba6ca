package seatbelt

import (
	"path"
	"strings"
)

// TempPrefix begins the path of each TMPDIR that mcp-jail makes for a server on macOS. It is short, for
// the names of sockets in it, and in a directory for which there may be rules. So no rule reaches the
// TMPDIR of another server, but one that names it.
const TempPrefix = "/private/tmp/mj-"

// allTemps returns the filter of all TMPDIRs.
func allTemps() Filter {
	dir := path.Dir(TempPrefix)
	return All{Subpath(dir), Regex(components(dir) + beginning(path.Base(TempPrefix)+"x") + tree)}
}

// isTemp reports whether a path is a TMPDIR, or in one.
func isTemp(p string) bool { return strings.HasPrefix(strings.ToLower(p), TempPrefix) }

// tempLast begins differently for TMPDIRs, which come behind what is around them all.
func tempLast(p string) string {
	if isTemp(p) {
		return "b"
	}
	return "a"
}
