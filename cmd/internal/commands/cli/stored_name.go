package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/kept"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// WorkDir returns the working directory as the other commands name it when they look for a project's
// file.
func WorkDir(host hostfs.Host) string {
	dir, err := os.Getwd()
	if err != nil {
		return host.Dir
	}
	return dir
}

// Elsewhere is a command about the user's own server of a name that a project's server has, too.
func Elsewhere(command, server string) string {
	return "(cd && " + show.Typed("mcp-jail "+command, server) + ")"
}

// NotKeptHere is the error for a name that is a project's in the working directory.
func NotKeptHere(what, command, server, project string) error {
	return fmt.Errorf("%s of server %q of the project of %s\nfor your own server of that name:  %s", what, server, show.Line(project), Elsewhere(command, server))
}

// ProposedHere returns proposals for names under which something is kept. In the directory of a project,
// the name of its own server means that one, and the user's of that name is not proposed.
func ProposedHere(host hostfs.Host, names []string) (out []string) {
	plain := map[string]string{} // the project's server of each name
	for _, name := range names {
		if project := records.ReadAbout(host, name).Project; project != "" {
			of := kept.PlainName(name, project)
			if own, _ := kept.Here(host, WorkDir(host), of); own == name {
				plain[of] = name
				out = append(out, Described(of, project))
			}
		}
	}
	for _, name := range names {
		if plain[name] == "" && !slices.Contains(slices.Collect(maps.Values(plain)), name) {
			out = append(out, Described(name, records.ReadAbout(host, name).Project))
		}
	}
	return out
}

// KeptNames returns the names of the servers that were run or installed.
func KeptNames() []string {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil
	}
	return kept.Completions(host)
}
