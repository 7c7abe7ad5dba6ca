package learn

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxPath is how long the path of a rule is at most.
const maxPath = 300

// workspace returns the workspace of the server, or "" if it is the home directory or lies around it: no
// relative rule grants that.
func (in *Input) workspace() string {
	if ws := in.Bare.Workspace; ws != "" && !policy.Within(in.Home, ws) {
		return ws
	}
	return ""
}

func (in *Input) inWorkspace(p string) bool {
	ws := in.workspace()
	return ws != "" && policy.Within(p, ws)
}

// written returns a canonical path as a rule has it.
func (in *Input) written(p string) string {
	ws := in.workspace()
	switch rel := strings.TrimPrefix(p, ws+"/"); {
	case ws != "" && p == ws:
		return "."
	case ws != "" && policy.Within(p, ws):
		if rel[0] == '~' || rel[0] == '$' {
			return "./" + rel
		}
		return rel
	}
	return in.short(p)
}

// short returns a canonical path with "~" for the home directory.
func (in *Input) short(p string) string {
	if in.Home != "/" && policy.Within(p, in.Home) {
		return "~" + p[len(in.Home):]
	}
	return p
}

// isWritable reports whether a rule can have the path.
func (in *Input) isWritable(p string) bool {
	return len(p) <= maxPath && utf8.ValidString(p) && policy.CheckPath(in.written(p)) == nil
}

// systemDirs hold what belongs to the system. No server is to write there.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/boot", "/sys", "/proc", "/dev", "/run", "/System", "/Library", "/Applications", "/private/etc", "/opt/homebrew", "/nix"}

// sharedDirs of a home directory have files of many programs, or all of the user's work.
var sharedDirs = []string{".config", ".local", ".local/share", ".local/state", ".local/bin", ".local/lib", ".cache", ".var", ".var/app", "snap", "Desktop", "Documents", "Downloads", "Music", "Pictures", "Videos", "Movies", "Public", "Templates", "Library", "Library/Application Support", "Library/Caches", "Library/Preferences"}

// cacheDirs of a home directory have what any program can make again. The server has its own in its
// private HOME.
var cacheDirs = []string{".cache", ".npm", "Library/Caches"}

// wide returns why no rule grants a directory for the sake of paths in it, or "".
func (in *Input) wide(dir string) string {
	why, known := in.widths[dir]
	if !known {
		if why = in.whyWide(dir); why == "" && !in.inWorkspace(dir) && in.Facts.Guarded(dir, false) != "" {
			why = "mcp-jail's own files" // also where Home is a link to a directory around them
		}
		if in.widths == nil {
			in.widths = map[string]string{}
		}
		in.widths[dir] = why
	}
	return why
}

func (in *Input) whyWide(dir string) string {
	ws := in.workspace()
	switch {
	case dir == "/":
		return "everything"
	case dir == in.Home:
		return "your home directory"
	case policy.Within(in.Home, dir):
		return "your home directory and more"
	case dir == ws:
		return ""
	case ws != "" && policy.Within(ws, dir):
		return "more than the workspace"
	case ws != "" && policy.Within(dir, ws):
		return ""
	case path.Dir(dir) == "/", path.Dir(dir) == "/var", path.Dir(dir) == "/private", slices.Contains([]string{"/opt/local", "/opt/homebrew", "/Users/Shared"}, dir):
		return "a directory of the system"
	case path.Dir(dir) == path.Dir(in.Home):
		return "the home directory of another user"
	case slices.ContainsFunc(sharedDirs, func(name string) bool { return dir == path.Join(in.Home, name) }):
		return "files of many programs"
	case policy.Within(in.Bare.Home, dir):
		return "the private HOMEs of servers"
	}
	if in.Learning == nil {
		return ""
	}
	for _, e := range in.Learning.Entries {
		if e.Origin == policy.OriginSensitive && policy.Within(e.Path, dir) {
			return "a sensitive path"
		}
	}
	if slices.ContainsFunc(in.Learning.HiddenLater, func(p string) bool { return policy.Within(p, dir) }) {
		return "a sensitive path"
	}
	return ""
}

// reason returns why a use has no rule, or "". What the bare profile allows is not asked.
func (in *Input) reason(u *use) (reason Reason, why string) {
	writes := u.op != policy.OpRead && u.op != policy.OpList
	inWorkspace := in.inWorkspace(u.path)
	isIn := func(dir string) bool { return policy.Within(u.path, dir) }
	if !in.isWritable(u.path) {
		return Unwritable, ""
	}
	if !inWorkspace && (isOwnPlace(u.path) || isIn("/sys") || isIn("/run")) {
		return System, ""
	}
	if named := in.Facts.Sensitive(u.path); named != "" && (!u.absent || writes || in.Facts.Kind(u.path) != 0) {
		return Sensitive, named
	}
	switch {
	case u.absent && u.op != policy.OpCreate && u.op != policy.OpMkdir:
		return Absent, ""
	case u.op != policy.OpList && in.Facts.Guarded(u.path, false) != "":
		return Protected, in.Facts.Guarded(u.path, false)
	case writes && (policy.HasProtectedName(u.path) || in.holdsOthers(u)):
		return Protected, ""
	case (u.op == policy.OpWrite || u.op == policy.OpTruncate) && in.Facts.Kind(u.path) == policy.KindDir:
		return Other, "" // no program writes into a directory
	case writes && !inWorkspace && slices.ContainsFunc(systemDirs, isIn):
		return System, ""
	case !inWorkspace && in.isInPrivateHome(u, writes):
		return Home, ""
	}
	return "", ""
}

// holdsOthers reports whether a name that was made or removed is that of a directory with protected
// names, sensitive paths or parts of the program. Those keep their place.
func (in *Input) holdsOthers(u *use) bool {
	if u.op == policy.OpWrite || u.op == policy.OpTruncate {
		return false
	}
	if _, protected := policy.ProtectedParts(path.Base(u.path)); protected && u.op == policy.OpRemove {
		return true
	}
	below := func(e policy.Entry) bool { return policy.Within(e.Path, u.path) }
	hidden := func(e policy.Entry) bool { return e.Origin == policy.OriginSensitive && below(e) }
	return slices.ContainsFunc(in.Bare.Entries, below) || in.Learning != nil && slices.ContainsFunc(in.Learning.Entries, hidden)
}

// isInPrivateHome reports whether the server has in its private HOME what it looked for in the user's:
// a cache, or what the user's home directory does not have.
func (in *Input) isInPrivateHome(u *use, writes bool) bool {
	if !in.Bare.HomePrivate || !policy.Within(u.path, in.Home) {
		return false
	}
	if slices.ContainsFunc(cacheDirs, func(name string) bool { return policy.Within(u.path, path.Join(in.Home, name)) }) {
		return true
	}
	at := u.path
	for at != path.Dir(at) && in.Facts.Kind(at) == 0 {
		at = path.Dir(at)
	}
	return writes && at != u.path && in.wide(at) != ""
}
