package cmdline

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// DefaultName returns a name for a server that is given on the command line. It is always a
// valid server name, and ends with a short hash, which keeps two servers from sharing a private
// HOME.
//
// If a launcher such as npx fetches the server's package, the name is made of the package,
// whatever its version and its arguments are: see [runline.Line.Key]. Other servers have their
// [config.DefaultName].
func DefaultName(argv []string, dir string) string {
	if line, err := runline.Parse(argv); err == nil {
		return line.Key(dir)
	}
	return config.DefaultName(argv, dir)
}

// Identity returns a text that tells programs apart. Versions of packages do not change it: a user
// edits them, and it stays the same server. A command without a launcher has its [config.Identity].
func Identity(argv []string, dir string) string {
	line, err := runline.Parse(argv)
	if err != nil {
		return config.Identity(argv, dir)
	}
	text := line.Key(dir)
	for _, o := range line.Options {
		if strings.Contains(o.Value, "://") { // another registry has another package of the name
			text += "\x00--" + o.Name + "=" + runline.WithoutUser(o.Value)
		}
	}
	return text
}
