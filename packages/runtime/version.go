package runtime

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// versionOfPath returns the version in the path of an interpreter, or "". Only directories of
// version managers and of Homebrew count: the 1.2.3 of /opt/app/1.2.3/bin/node is the version of
// the application.
func versionOfPath(real string) string {
	dir, bin := path.Split(path.Dir(real))
	if bin != "bin" {
		return ""
	}
	dir = path.Clean(dir)
	if path.Base(dir) == "installation" { // fnm
		dir = path.Dir(dir)
	}
	name, parent := path.Base(dir), path.Base(path.Dir(dir))
	known := slices.Contains([]string{"node", "nodejs", "python", "node-versions"}, parent) ||
		strings.HasPrefix(parent, "node@") || strings.HasPrefix(parent, "python@") ||
		parent == "versions" && slices.Contains([]string{".pyenv", "pyenv", ".nodenv", "nodenv"}, path.Base(path.Dir(path.Dir(dir))))
	if !known {
		return ""
	}
	name, _, _ = strings.Cut(name, "_") // the revision of Homebrew
	if version := bareVersion(name); strings.Count(version, ".") == 2 && isRelease(version) == 1 {
		return version
	}
	return ""
}

// bareVersion returns the version in the name of a directory: v20.1.0, 20.1.0, or
// cpython-3.12.3-linux-x86_64-gnu.
func bareVersion(name string) string {
	if rest, ok := strings.CutPrefix(name, "cpython-"); ok {
		name, _, _ = strings.Cut(rest, "-")
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "python"), "v")
}

// VersionIn returns the version in what an interpreter answers to --version: "v20.1.0" or
// "Python 3.12.3", "" if there is none.
func VersionIn(answer string) string {
	answer = strings.TrimPrefix(firstLine(answer), "Python ")
	word, _, _ := strings.Cut(answer, " ")
	word = strings.TrimPrefix(strings.TrimSuffix(word, "+"), "v")
	if !isVersion().MatchString(word) {
		return ""
	}
	return word
}

// isVersion is a version as interpreters tell it. It is kept, compared, and shown to users.
var isVersion = lazy.Regexp(`^[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6}([-+.]?[0-9A-Za-z]{1,40}){0,4}$`)

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
