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

// IsSystemPlace reports whether a directory of a system, as in runtime.GOOS, belongs to it and not to a
// user's work. Some trees belong to the system as a whole, others contain both.
func IsSystemPlace(os, dir string) bool {
	if os == "windows" {
		return isPlaceOfWindows(dir)
	}
	for _, tree := range [...]string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot", "/dev", "/proc", "/sys", "/etc", "/run", "/System", "/Library", "/Applications", "/private/etc", "/private/var/db", "/private/var/root", "/cores", "/opt/homebrew", "/nix"} {
		if policy.Within(dir, tree) {
			return true
		}
	}
	if policy.Within(dir, "/usr") && !(policy.Within(dir, "/usr/src") && dir != "/usr/src") && !(policy.Within(dir, "/usr/local/src") && dir != "/usr/local/src") {
		return true
	}
	return slices.Contains([]string{
		"/var", "/var/lib", "/var/log", "/var/cache", "/var/spool", "/var/tmp", "/var/run", "/var/mail", "/var/backups", "/var/www", "/opt", "/srv", "/home", "/root", "/mnt", "/media", "/tmp", "/snap", "/lost+found", "/Users", "/Users/Shared", "/Volumes", "/opt/local", "/private", "/private/var", "/private/var/folders", "/private/var/tmp", "/private/tmp",
	}, dir)
}

// SystemDirs returns the directories of every program's baseline (docs/policy.md "Runtime
// baseline"): those that hold programs.
func SystemDirs(os string) []string {
	if os == "darwin" {
		programs, _ := macDirs()
		return programs
	}
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
}

// SystemFiles returns the other paths of the baseline: the files of /etc that the C library, TLS and
// the common runtimes read. data reports that nothing in them is started.
//
// hosts and resolv.conf are not among those of Linux: names are the task of the network axis, so
// confinement writes its own. machine-id and shadow are not needed. Each existing file costs one mount
// in every start, so files for login shells and administrators' tools are left out.
func SystemFiles(os string) (paths []string, data bool) {
	if os == "darwin" {
		_, files := macDirs()
		return files, true
	}
	return []string{
		"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path",
		"/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/passwd", "/etc/group",
		"/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/os-release",
		"/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/crypto-policies",
		"/etc/alternatives", "/etc/mime.types", "/etc/fonts", "/etc/locale.alias",
		"/etc/java", "/etc/perl", "/etc/python3", "/etc/python", "/etc/php", "/etc/R", "/etc/chromium", "/etc/chromium.d",
	}, false
}

// IsSystemPath reports whether a canonical path is in one of the system directories of Linux, also on
// macOS.
func IsSystemPath(p string) bool {
	for _, d := range SystemDirs("linux") {
		if policy.Within(p, d) {
			return true
		}
	}
	return false
}

// Guarded returns what a grant of an absolute path would give a server a hold on, or "": mcp-jail's
// configuration, state, cache, packages and programs. With write, it also returns the files of
// clients, and what the user's session and tools run outside of the jail. The path leads to such a
// place, lies in it, or contains it. Guarded compares objects, and names without regard to case, so
// that no link, mount or other spelling hides a place.
func Guarded(h *hostfs.Host, p string, write bool) string {
	h = h.Slashed()
	b := New(&policy.Policy{}, h, hostfs.NewLinkResolver(h))
	return AsWritten(h, guarded(b, p, write))
}

func guarded(b *Places, p string, write bool) string {
	abs, _ := b.Expand(p, "/")
	at := b.paths.Canonical(abs)
	dirs := append(b.OwnDirs(), UsualDirs(b.h)...)
	if write {
		dirs = append(dirs, b.TrustedFiles()...)
		dirs = append(dirs, path.Join(b.h.Home, ".ssh"), path.Join(b.h.Home, ".gnupg")) // keys that let others in, and what they start
		if b.Deciding == nil {
			b.collectDeciding()
		}
		for _, d := range b.Deciding {
			if d.Risk != PackagesRisk { // a server may have a reason to write it: see warnDeciding
				dirs = append(dirs, d.Abs)
			}
		}
	}
	if place := around(b, at, dirs); place != "" {
		return place
	}
	for _, file := range b.TrustedFiles() {
		if b.holds(at, b.paths.Canonical(file)) {
			return file
		}
	}
	return ""
}

// around returns the first of some places that a canonical path is, lies in, or contains.
func around(b *Places, at string, places []string) string {
	for _, place := range places {
		if real := b.paths.Canonical(place); b.holds(at, real) || b.holds(real, at) {
			return place
		}
	}
	return ""
}

func (b *Places) holds(p, dir string) bool {
	return policy.Within(strings.ToLower(p), strings.ToLower(dir)) || b.isBelow(p, dir)
}
