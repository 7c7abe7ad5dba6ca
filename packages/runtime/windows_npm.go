package runtime

import (
	"context"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// An NPM is an npm of Windows. Its batch file npm.cmd is never started: node runs its script.
type NPM struct {
	Node string // node.exe
	Dir  string // of npm's package; "" if there is none
	// Refused is the first file that is not used, with the reason, or "".
	Refused string
}

// Script returns the file that node runs.
func (n NPM) Script() string { return n.Dir + npmScript }

const npmScript = `\bin\npm-cli.js`

// NPMOfWindows returns the node.exe that PATH gives, or else the newest of a version manager, and an npm
// for it: the one whose npm.cmd is the first in PATH, or else the one beside that node.exe. Without a
// node it has neither. untrusted is that of a Finder.
func NPMOfWindows(host *hostfs.Host, untrusted func(file string) string) (n NPM) {
	s := searchOf(host, untrusted, Node)
	is := func(file string) bool { return s.isUsable(file, &n.Refused) }
	isNPM := func(dir string) bool { return is(dir + `\node_modules\npm` + npmScript) }
	dirs := s.windowsPath()
	for _, dir := range dirs {
		if file := join(dir, "node.exe"); n.Node == "" && s.standIn(dir) == "" && is(file) {
			n.Node = file
		}
		if n.Dir == "" && s.isFile(join(dir, "npm.cmd")) && isNPM(dir) {
			n.Dir = join(dir, `node_modules\npm`)
		}
	}
	for _, t := range s.trees() {
		for _, dir := range s.versionsOf(t) {
			if file := join(dir, t.program); n.Node == "" && is(file) {
				n.Node = file
			}
		}
	}
	if n.Node == "" {
		return NPM{Refused: n.Refused}
	}
	if beside := n.Node[:strings.LastIndexByte(n.Node, '\\')]; n.Dir == "" && isNPM(beside) {
		n.Dir = join(beside, `node_modules\npm`)
	}
	return n
}

// FirstOnWindows returns the interpreter that PATH of a Windows gives, which no stand-in of a version manager
// is, or "". refused is the first file that is not used, with the reason, or "". untrusted is that of a
// Finder.
func FirstOnWindows(host *hostfs.Host, untrusted func(file string) string, lang Language) (file, refused string) {
	s := searchOf(host, untrusted, lang)
	for _, name := range s.windowsNames() {
		for _, dir := range s.windowsPath() {
			if file := join(dir, name); s.isFile(file) && s.standIn(dir) == "" && s.isUsable(file, &refused) {
				return file, refused
			}
		}
	}
	return "", refused
}

// CandidateOnWindows returns a file that could be an interpreter of a Windows, or else the py.exe that knows
// those of Python, or "". It asks neither. The others are as those of FirstOnWindows.
func CandidateOnWindows(host *hostfs.Host, untrusted func(file string) string, lang Language) (file, refused string) {
	if file, refused = FirstOnWindows(host, untrusted, lang); file != "" {
		return file, refused
	}
	s := searchOf(host, untrusted, lang)
	for _, t := range s.trees() {
		for _, dir := range s.versionsOf(t) {
			if s.isUsable(join(dir, t.program), &refused) {
				return join(dir, t.program), refused
			}
		}
	}
	for _, dir := range s.windowsPath() {
		if py := join(dir, "py.exe"); lang == Python && s.standIn(dir) == "" && s.isUsable(py, &refused) {
			return py, refused
		}
	}
	return "", refused
}

// searchOf returns a search that asks no interpreter.
func searchOf(host *hostfs.Host, untrusted func(file string) string, lang Language) *search {
	none := func(context.Context, string) (string, error) { return "", nil }
	return &search{Finder: Finder{Host: host, Untrusted: untrusted, Version: none}, owners: ownerHost(host), found: Found{Language: lang}}
}

// isUsable reports whether there is a file, and none but the user or the system could have put it there.
// Otherwise it says so in refused, if that is "".
func (s *search) isUsable(file string, refused *string) bool {
	if !s.isFile(file) {
		return false
	}
	why := s.faultOnWindows(file)
	if why != "" && *refused == "" {
		*refused = file + " is not used: " + why
	}
	return why == ""
}
