package npm

import "strings"

// A System is what packages are built for, in the words of npm.
type System struct {
	OS   string // process.platform: linux, darwin, win32
	CPU  string // process.arch: x64, arm64
	Libc string // glibc or musl; "" where that is not known, or not Linux
}

// SystemOf returns the system for the words of Go, which differ for some.
func SystemOf(goos, goarch, libc string) System {
	s := System{OS: goos, CPU: goarch, Libc: libc}
	switch goos {
	case "windows":
		s.OS = "win32"
	case "solaris", "illumos":
		s.OS = "sunos"
	}
	switch goarch {
	case "amd64":
		s.CPU = "x64"
	case "386":
		s.CPU = "ia32"
	case "ppc64le":
		s.CPU = "ppc64"
	case "mipsle":
		s.CPU = "mipsel"
	}
	if s.OS != "linux" {
		s.Libc = ""
	}
	return s
}

// Fits reports whether a package is for a system, by its own word.
func (p Package) Fits(s System) bool {
	return allows(p.OS, s.OS) && allows(p.CPU, s.CPU) && (len(p.Libc) == 0 || s.Libc != "" && allows(p.Libc, s.Libc))
}

// allows applies a list of npm: names that are accepted, or names with "!" that are not.
func allows(list []string, value string) bool {
	if len(list) == 0 || len(list) == 1 && list[0] == "any" {
		return true
	}
	named, negated := false, 0
	for _, entry := range list {
		other, not := strings.CutPrefix(entry, "!")
		if not && other == value {
			return false
		}
		if not {
			negated++
		}
		named = named || !not && other == value
	}
	return named || negated == len(list)
}

// Unfit returns the packages that are not for a system: those that npm leaves out because
// they are optional, together with what lies inside them, and those for which it refuses
// the installation (EBADPLATFORM).
func Unfit(packages []Package, s System) (leftOut, refused []Package) {
	gone := map[string]bool{}
	for _, p := range packages {
		if p.Optional && !p.Fits(s) {
			gone[p.Path] = true
		}
	}
	for _, p := range packages {
		switch {
		case gone[p.Path] || insideOf(p.Path, gone):
			leftOut = append(leftOut, p)
		case !p.Fits(s):
			refused = append(refused, p)
		}
	}
	return leftOut, refused
}

// insideOf reports whether a place lies inside one of others.
func insideOf(place string, others map[string]bool) bool {
	for {
		i := strings.LastIndex(place, "/node_modules/")
		if i < 0 {
			return false
		}
		if place = place[:i]; others[place] {
			return true
		}
	}
}
