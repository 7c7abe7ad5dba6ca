package seatbelt

import (
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TempPrefix begins the path of each TMPDIR that mcp-jail makes for a server on macOS. It is short, for
// the names of sockets in it, and in a directory for which there may be rules. So no rule reaches the
// TMPDIR of another server, but one that names it.
const TempPrefix = "/private/tmp/mj-"

// temps returns the filter of all TMPDIRs, for an entry around them. The server's own has an entry.
func (f *files) temps(entry string) []Filter {
	dir := path.Dir(TempPrefix)
	if !policy.Within(dir, entry) {
		return nil
	}
	names := components(dir) + beginning(path.Base(TempPrefix)+"x") + tree
	return []Filter{All{Subpath(dir), Regex(names)}}
}

// isTemp reports whether a path is a TMPDIR, or in one.
func isTemp(p string) bool { return strings.HasPrefix(strings.ToLower(p), TempPrefix) }
