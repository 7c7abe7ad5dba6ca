package installed

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Key returns the key of a line in the lock file. If variables of the host choose where packages come
// from, the key says so: a project may have brought the client's entry that sets them, and what it
// chose is not pinned for a line without them.
func Key(line *runline.Line, host *hostfs.Host) lockfile.Key {
	words := append([]string{line.Wanted()}, chosen(line.Ecosystem(), host)...)
	return lockfile.Key{Ecosystem: lockfile.Ecosystem(line.Ecosystem()), Spec: strings.Join(words, " ")}
}

// maxSettings bounds what is read of the user's .npmrc.
const maxSettings = 64 << 10

// chosen returns, as --NAME=VALUE, where the host's variables have the packages of an
// ecosystem fetched from: variables of package environ, and those by which the user's own .npmrc
// names a registry. The options have no user names and passwords.
func chosen(ecosystem runline.Ecosystem, host *hostfs.Host) (options []string) {
	add := func(name, value string) {
		var places []string
		for _, place := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r <= ' ' }) {
			places = append(places, withoutUser(place))
		}
		if places != nil {
			options = append(options, "--"+strings.ReplaceAll(strings.ToLower(name), "_", "-")+"="+strings.Join(places, ","))
		}
	}
	if ecosystem != runline.NPM {
		for _, pair := range environ.Build(environ.Lock, host.Environ) {
			if name, value, _ := strings.Cut(pair, "="); !strings.HasPrefix(strings.ToLower(name), "npm_") {
				add(name, value)
			}
		}
	} else {
		for _, s := range npm.VariableSettings(environ.Build(environ.Lock, host.Environ), host.Getenv) {
			if !isUsual(s, host) {
				add(s.Name, s.Value)
			}
		}
		text, err := host.ReadHead(filepath.Join(host.Home, ".npmrc"), maxSettings)
		// Without a reference to a variable, the file means the same in every session.
		if err == nil && strings.Contains(string(text), "${") {
			for _, s := range npm.ReferredRegistries(string(text), host.Getenv) {
				add(s.Name, s.Value)
			}
		}
	}
	slices.Sort(options)
	return slices.Compact(options)
}

// isUsual reports whether a setting names the user's own .npmrc, or no file that is there. npm sets
// such variables for all that it starts.
func isUsual(s npm.Setting, host *hostfs.Host) bool {
	file := s.Value
	switch s.Name {
	case "userconfig":
		return filepath.Clean(file) == filepath.Join(host.Home, ".npmrc")
	case "prefix":
		file = filepath.Join(file, "etc", "npmrc")
	case "globalconfig":
	default:
		return false
	}
	_, err := host.Lstat(file)
	return filepath.IsAbs(file) && errors.Is(err, fs.ErrNotExist)
}

// withoutUser returns an address without the user and the password in it.
func withoutUser(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return address
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	return scheme + "://" + rest[strings.LastIndexByte(rest[:end], '@')+1:]
}
