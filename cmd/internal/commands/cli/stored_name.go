package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// StoredName is what the name of a server means in the working directory.
type StoredName struct {
	Typed   string
	Stored  string // under which mcp-jail keeps what belongs to the server
	Project string // the project's file, if the server is the project's own
}

// Meant returns what a name means here.
func Meant(host hostfs.Host, typed string) StoredName {
	dir, err := os.Getwd() // as the other commands name it when they look for a project's file
	if err != nil {
		dir = host.Dir
	}
	n := StoredName{Typed: typed}
	n.Stored, n.Project = stored.Here(host, dir, typed)
	return n
}

// Elsewhere is a command about the server that has a name itself, for a directory in which the name means
// another one.
func Elsewhere(host hostfs.Host, command, server string) string {
	line := show.Typed("mcp-jail "+command, server)
	dirs := []string{host.Home, filepath.VolumeName(host.Home) + string(filepath.Separator)}
	for _, dir := range dirs {
		if kept, _ := stored.Here(host, dir, server); kept == server {
			return show.InDir(dir, line)
		}
	}
	return "(type " + line + " in another directory)"
}

// NotFound returns err, or what is missing of the project's server if the name means that one.
func (n StoredName) NotFound(host hostfs.Host, err error, what, command string) error {
	if n.Project == "" {
		return err
	}
	return fmt.Errorf("%s of server %q of the project of %s\nfor your own server of that name:  %s", what, n.Typed, show.Line(n.Project), Elsewhere(host, command, n.Typed))
}

// ProposedHere returns proposals for names under which something is kept. In the directory of a project,
// the name of its own server means that one, and the user's of that name is not proposed.
func ProposedHere(host hostfs.Host, names []string) (out []string) {
	plain := map[string]string{} // the project's server of each name
	// The project's own servers come first: they take their plain names.
	for _, name := range names {
		if project := records.ReadAbout(host, name).Project; project != "" {
			of := stored.PlainName(name, project)
			if Meant(host, of).Stored == name {
				plain[of] = name
				out = append(out, Described(of, project))
			}
		}
	}
	for _, name := range names {
		// Neither one that is proposed already, nor one whose name means another here.
		if plain[name] == "" && !slices.Contains(slices.Collect(maps.Values(plain)), name) {
			out = append(out, Described(name, records.ReadAbout(host, name).Project))
		}
	}
	return out
}

// StoredNames returns the names of the servers that were run or installed.
func StoredNames() []string {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil
	}
	return stored.Completions(host)
}
