package places

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// OwnDirs returns mcp-jail's configuration, state, cache and data directories, and the
// administrator's configuration directory.
func (b *Places) OwnDirs() (dirs []string) {
	for _, d := range []string{b.h.ConfigDir, b.h.StateDir, b.h.CacheDir, b.h.DataDir, policy.SystemConfigDir} {
		if strings.HasPrefix(d, "/") {
			dirs = append(dirs, path.Clean(d))
		}
	}
	return dirs
}

// TrustedFiles returns the files that decide about every server: the configurations that
// were named, this program, and mcp-jail's programs beside it, which run outside any jail.
func (b *Places) TrustedFiles() []string {
	files := b.h.Configs
	if exe := b.h.Executable; exe != "" {
		files = append([]string{exe}, files...)
		for _, name := range [...]string{"mcp-jail", "mcp-jail-cli", "mcp-jail-tls"} {
			if b.h.OS == "windows" {
				name += ".exe"
			}
			if beside := path.Join(path.Dir(exe), name); beside != exe {
				files = append(files, beside)
			}
		}
	}
	return files
}

// allOwnDirs returns OwnDirs, and UsualDirs.
func (b *Places) allOwnDirs() []string { return append(b.OwnDirs(), UsualDirs(b.h)...) }

// UsualDirs returns where mcp-jail's directories for its configuration, state, cache and data are without
// variables. The variables of this process may not be those of the user's shell.
func UsualDirs(h *hostfs.Host) []string {
	cfg, state, cache, data := hostfs.StandardDirs(&hostfs.Host{Home: AsWritten(h, h.Home)})
	dirs := []string{cfg, state, cache, data}
	for i, dir := range dirs {
		if h.OS == "windows" {
			dirs[i] = winpath.Slashed(dir)
		}
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return !strings.HasPrefix(dir, "/") })
}

// Guarded returns what a grant of an absolute path would give a server a hold on, or "": mcp-jail's
// configuration, state, cache, packages and programs. With write, it also returns the files of
// clients, and what the user's session and tools run outside of the jail. The path leads to such a
// place, lies in it, or contains it. Guarded compares objects, and names without regard to case, so
// that no link, mount or other spelling hides a place.
func Guarded(h *hostfs.Host, p string, write bool) string {
	h = h.Slashed()
	return AsWritten(h, guarded(newAdviser(h, &policy.Policy{}), p, write))
}

func guarded(b *Places, p string, write bool) string {
	abs, _ := b.Expand(p, "/")
	at := b.paths.Canonical(abs)
	dirs := b.allOwnDirs()
	if write {
		dirs = append(dirs, b.TrustedFiles()...)
		dirs = append(dirs, path.Join(b.h.Home, ".ssh"), path.Join(b.h.Home, ".gnupg")) // keys that let others in, and what they start
		for _, d := range b.Deciding {
			if d.Kind != Packages { // a server may have a reason to write it: see WarnDeciding
				dirs = append(dirs, d.Abs)
			}
		}
	}
	for _, dir := range dirs {
		if b.touches(at, dir) {
			return dir
		}
	}
	for _, file := range b.TrustedFiles() {
		if b.holds(at, b.paths.Canonical(file)) {
			return file
		}
	}
	return ""
}

// touches reports whether a canonical path is a place, lies in it, or contains it.
func (b *Places) touches(at, place string) bool {
	real := b.paths.Canonical(place)
	return b.holds(at, real) || b.holds(real, at)
}

func (b *Places) holds(p, dir string) bool {
	return policy.Within(strings.ToLower(p), strings.ToLower(dir)) || b.isBelow(p, dir)
}
