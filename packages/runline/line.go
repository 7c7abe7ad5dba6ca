package runline

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// Launcher is the command that fetches and runs a package.
type Launcher string

// The launchers.
const (
	Npx       Launcher = "npx"
	NpmExec   Launcher = "npm exec" // npm x, too
	Uvx       Launcher = "uvx"
	UvToolRun Launcher = "uv tool run"
)

// Ecosystem is the kind of registry that packages come from.
type Ecosystem string

// The ecosystems.
const (
	NPM  Ecosystem = "npm"
	PyPI Ecosystem = "pypi"
)

// Ecosystem returns where the launcher's packages come from.
func (l Launcher) Ecosystem() Ecosystem {
	if l == Uvx || l == UvToolRun {
		return PyPI
	}
	return NPM
}

// Line is what a launcher's command line asks for.
type Line struct {
	Launcher Launcher
	// Packages are installed together. There is at least one. The package of --from, or the one that the
	// word for the program names, is the first; the others are in the order of the line. The first
	// provides the program if Program is "".
	Packages []Spec
	// Program is the name of the program among those of Packages. It is "" if npm chooses the program of
	// the first package by its own rule.
	Program string
	Args    []string // the program's arguments
	Python  string   // the version of --python, such as "3.12"; "" is any

	// Env are the variables that the line itself sets, in order. The program gets them.
	Env []Assignment
	// Outer are the words of programs that stay in front of the package's program, such as timeout 30.
	Outer []string
	// Dir is the directory of env -C, in which the program starts. A relative one begins at the working
	// directory. "" is the working directory.
	Dir string

	named bool // an option names the packages, so that the first word names only a program
}

// Assignment is a variable that a line sets.
type Assignment struct{ Name, Value string }

// Ecosystem returns where the packages come from.
func (l *Line) Ecosystem() Ecosystem { return l.Launcher.Ecosystem() }

// In returns the directory in which the line starts the program, if it is itself started in dir.
func (l *Line) In(dir string) string {
	switch {
	case l.Dir == "":
		return dir
	case path.IsAbs(l.Dir):
		return l.Dir
	}
	return path.Join(dir, l.Dir)
}

// Names returns the names of the packages in the order of the line.
func (l *Line) Names() (names []string) {
	for _, p := range l.Packages {
		names = append(names, p.Name)
	}
	return names
}

// Wanted returns, as readable text, the packages that the line asks for, with their versions, ranges or
// tags. Two lines with the same text can share one pinned installation.
func (l *Line) Wanted() string {
	var parts []string
	for _, p := range l.Packages {
		parts = append(parts, p.identity()+"@"+p.Want())
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	if l.Python != "" {
		parts = append(parts, "--python="+l.Python)
	}
	return strings.Join(parts, " ")
}

// Key returns a name for what the line fetches, which is also one for a file: lines that ask for the same
// packages have the same.
func (l *Line) Key() string {
	sum := sha256.Sum256([]byte(string(l.Ecosystem()) + ": " + l.Wanted()))
	name := path.Base(l.Packages[0].Name)
	return name[:min(len(name), 40)] + "-" + hex.EncodeToString(sum[:8])
}

// Local returns the name of the file in node_modules/.bin that npx and npm exec run in place of the
// package, if the working directory or one above it has that. It is "" if no file can be in the way.
func (l *Line) Local() string {
	if l.named || l.Ecosystem() != NPM {
		return ""
	}
	return l.Packages[0].Raw
}
