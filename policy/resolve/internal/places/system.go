package places

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// IsSystemPlace reports whether a directory of a system, as in runtime.GOOS, belongs to it and not to a
// user's work. Some trees belong to the system as a whole, others contain both.
func IsSystemPlace(os, dir string) bool {
	if os == "windows" {
		return isPlaceOfWindows(dir)
	}
	sources := func(at string) bool { return policy.Within(dir, at) && dir != at }
	return isIn("system", os, dir) || slices.Contains(rows("system itself", os), dir) ||
		policy.Within(dir, "/usr") && !sources("/usr/src") && !sources("/usr/local/src")
}

// SystemDirs returns the directories of every program's baseline (docs/policy.md "Runtime
// baseline"): those that hold programs.
func SystemDirs(os string) []string { return baseline("baseline", os) }

// SystemFiles returns the other paths of the baseline: the files that the C library, TLS and the common runtimes
// read. data reports that nothing in them is started.
func SystemFiles(os string) (paths []string, data bool) {
	return baseline("baseline file", os), os == "darwin"
}

func baseline(kind, os string) []string {
	all := slices.Clone(rows(kind, os))
	for _, dir := range rows("prefix", os) {
		programs, data := Prefix(dir)
		if kind == "baseline" {
			all = append(all, programs...)
		} else {
			all = append(all, data...)
		}
	}
	return all
}

// Prefix returns what programs need of a directory in which Homebrew or MacPorts installs.
func Prefix(dir string) (programs, data []string) {
	for _, name := range rows("prefix programs", "") {
		programs = append(programs, path.Join(dir, name))
	}
	for _, name := range rows("prefix data", "") {
		data = append(data, path.Join(dir, name))
	}
	return programs, data
}

// IsSystemPath reports whether a canonical path is in one of the system directories of Linux, also on
// macOS.
func IsSystemPath(p string) bool { return isIn("baseline", "linux", p) }

// InBaseline reports whether a canonical path is in a directory of programs that every server gets.
func InBaseline(os, p string) bool {
	return slices.ContainsFunc(SystemDirs(os), func(dir string) bool { return policy.Within(p, dir) })
}

// WhyNoRule returns why a rule for a canonical path is refused on macOS, or "". rights reports that the
// rule grants something.
func (b *Places) WhyNoRule(p string, rights bool) string {
	if b.h.OS != "darwin" {
		return ""
	}
	if rights && policy.Within("/System/Volumes/Data", p) {
		return "would grant every file of every user: macOS has all of them below /System/Volumes/Data a second time. Name the directories that are meant, such as ~/src or /Volumes/NAME"
	}
	for _, alias := range [...]string{"/.vol", "/.nofollow", "/.resolve"} {
		if policy.Within(p, alias) {
			return "is another name that macOS has for a file, and the kernel does not compare it with rules: write the usual path"
		}
	}
	return ""
}

// The paths of a Windows are those of a host that [hostfs.Host.Slashed] has made, such as /C:/Users/u.

// onDrive returns a path of Windows with slashes. One that begins with a backslash is on the drive of the
// directory to which it is relative. So is one of that drive without a backslash, in that directory.
func onDrive(h *hostfs.Host, p, dir string) string {
	if _, ok := winpath.FromSlashed(dir); !ok {
		dir = h.Dir
	}
	drive, ok := winpath.FromSlashed(dir[:min(3, len(dir))])
	if len(p) > 1 && p[1] == ':' && (len(p) == 2 || p[2] != '\\' && p[2] != '/') && ok && strings.EqualFold(p[:2], drive[:2]) {
		return path.Join(dir, winpath.Slashed("./"+p[2:]))
	}
	p = winpath.Slashed(p)
	if _, whole := winpath.FromSlashed(p); strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "//") && !whole && ok {
		return dir[:3] + strings.TrimSuffix(p, "/")
	}
	return p
}

// isPlaceOfWindows reports whether a directory of a Windows belongs to the system, or to all users.
func isPlaceOfWindows(dir string) bool {
	native, ok := winpath.FromSlashed(dir)
	if !ok {
		return true // on another machine, or the root above the drives
	}
	first, below, _ := strings.Cut(strings.ToLower(native[3:]), `\`)
	switch first {
	case "", "windows", "program files", "program files (x86)", "programdata", "$recycle.bin", "recovery", "system volume information", "perflogs":
		return true
	case "users":
		return slices.Contains([]string{"", "public", "default", "all users"}, below)
	}
	return false
}
