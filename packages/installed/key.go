package installed

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Key returns the key of a line in the lock file. If variables of the host choose where packages come
// from, the key says so: a project may have brought the client's entry that sets them, and what it
// chose is not pinned for a line without them.
func Key(line *runline.Line, host *hostfs.Host) lockfile.Key {
	words := append([]string{line.Wanted()}, chosen(line.Ecosystem(), host)...)
	return lockfile.Key{Ecosystem: lockfile.Ecosystem(line.Ecosystem()), Spec: strings.Join(words, " ")}
}

// chosen returns, as --NAME=VALUE, where the host's variables have the packages of an ecosystem fetched from.
func chosen(ecosystem runline.Ecosystem, host *hostfs.Host) (options []string) {
	tools := []sources.Tool{sources.NPM}
	if ecosystem != runline.NPM {
		tools = []sources.Tool{sources.Uv, sources.Pip}
	}
	for _, tool := range tools {
		from, err := sources.Reader{Host: host, Logins: true}.Read(tool)
		if err == nil { // else the installation says what is wrong
			options = append(options, from.Chosen()...)
		}
	}
	slices.Sort(options)
	return slices.Compact(options)
}
