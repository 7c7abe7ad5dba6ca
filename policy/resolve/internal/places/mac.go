package places

import (
	"path"

	"github.com/mcp-jail/mcp-jail/policy"
)

// macPrograms are the directories of macOS that hold programs and the libraries they load. /System is
// not among them as a whole: all files of the user are below /System/Volumes/Data, too.
var macPrograms = []string{
	"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/bin", "/sbin",
	"/System/Library", "/System/Cryptexes", "/System/iOSSupport", "/System/Volumes/Preboot/Cryptexes",
	"/Library/Apple", "/Library/Frameworks", "/Library/Java", CommandLineTools,
}

// macData are the directories and files of macOS that programs read and do not start. The names in
// /etc lead to /private/etc.
var macData = []string{
	"/usr/share", "/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select", "/Library/Fonts",
	"/Library/Preferences/com.apple.dt.Xcode.plist", "/Library/Preferences/.GlobalPreferences.plist",
	"/etc/ssl", "/etc/localtime", "/etc/passwd", "/etc/group", "/etc/protocols", "/etc/services", "/etc/shells", "/etc/hosts",
}

// CommandLineTools is where macOS installs Apple's developer tools without Xcode.
const CommandLineTools = "/Library/Developer/CommandLineTools"

// packagePrefixes are where package managers of macOS install: Homebrew, on Intel in /usr/local, and
// MacPorts.
var packagePrefixes = []string{"/opt/homebrew", "/usr/local", "/opt/local"}

// Prefix returns what programs need of a directory in which Homebrew or MacPorts installs. The rest of
// etc and all of var are the configurations and the data of services.
func Prefix(dir string) (programs, data []string) {
	for _, name := range [...]string{"bin", "sbin", "opt", "Cellar", "lib", "Frameworks", "Library/Frameworks", "libexec", "share"} {
		programs = append(programs, path.Join(dir, name))
	}
	for _, name := range [...]string{"etc/openssl@3", "etc/ca-certificates"} {
		data = append(data, path.Join(dir, name))
	}
	return programs, data
}

func macDirs() (programs, data []string) {
	programs, data = append(programs, macPrograms...), append(data, macData...)
	for _, dir := range packagePrefixes {
		p, d := Prefix(dir)
		programs, data = append(programs, p...), append(data, d...)
	}
	return programs, data
}

// InBaseline reports whether a canonical path is in a directory of programs that every server gets.
func InBaseline(os, p string) bool {
	if os != "darwin" {
		return IsSystemPath(p)
	}
	for _, d := range SystemDirs(os) {
		if policy.Within(p, d) {
			return true
		}
	}
	return false
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
