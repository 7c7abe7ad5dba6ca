package grantcmd

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// harmToOthers judges a grant to write by the files from which other servers are started. A server that may write to such a file
// gets what the other server was granted.
func harmToOthers(x *index.Index, own, at string) (h policy.Harm) {
	within := func(path, dir string) bool { return hostfs.Within(runtime.GOOS, path, dir) }
	for _, s := range x.Servers {
		if s.Key == own && own != "" {
			continue
		}
		for i, word := range s.Words {
			path := startedFrom(s, i, word, x.Host.Home)
			switch {
			case path == "":
			case within(path, at):
				return policy.Harm{Never: "the server " + show.Name(s.Name) + " is started from " + show.Line(path)}
			case i > 0 && filepath.Dir(path) != x.Host.Home && within(at, filepath.Dir(path)):
				h.Ask = "it lies beside " + show.Line(path) + ", from which the server " + show.Name(s.Name) + " is started"
			}
		}
	}
	return h
}

// startedFrom returns the file that a word of a server's line names, or "".
func startedFrom(s *index.Server, i int, word, home string) string {
	path := word
	if rest, ok := hostfs.CutHome(runtime.GOOS, word); ok {
		path = filepath.Join(home, rest)
	}
	switch {
	case filepath.IsAbs(path):
	case i == 0 && !strings.ContainsRune(path, filepath.Separator):
		path, _ = exec.LookPath(path)
	case s.Dir != "" && path != "":
		path = filepath.Join(s.Dir, path)
	default:
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && path != "" {
		return real
	}
	return ""
}
