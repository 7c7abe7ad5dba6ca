package installed

import (
	"path/filepath"
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

// Keys returns the keys under which the lock file may have the package of a line. The first one counts more, and
// is that of what is fetched for the line. A line of the user's own has one key. Another line has two: that of its
// directory, and that of the user's own lines. A project's entry may choose npm or a proxy by variables. So what is
// fetched for it is a pin of that directory alone.
func Keys(line *runline.Line, host *hostfs.Host, own bool) []lockfile.Key {
	keys := []lockfile.Key{Key(line, host)}
	if own {
		return keys
	}
	dir := host.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	project := keys[0]
	project.Spec += " --project=" + dir
	return append([]lockfile.Key{project}, keys...)
}

// Pinned returns the entry of the first of some keys that the lock file has, or nil.
func Pinned(lockFile string, keys []lockfile.Key) (*lockfile.Entry, error) {
	for _, key := range keys {
		if e, err := lockfile.Find(lockFile, key); e != nil || err != nil {
			return e, err
		}
	}
	return nil, nil
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
