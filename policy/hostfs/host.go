package hostfs

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A Host answers all questions that a resolution has about the machine. [LocalHost] is this
// machine; tests use a map. The functions may be called from several goroutines.
//
// Paths are absolute and clean. Lstat, Readlink and ReadDir behave like their namesakes in
// package os, except as their fields say. Their errors, and those of ReadHead, match
// fs.ErrNotExist and fs.ErrPermission.
type Host struct {
	Lstat    func(path string) (FileInfo, error)
	Readlink func(path string) (string, error)
	// ReadDir lists a directory in any order, with the types that the directory
	// itself records and without looking at the files; it may return the entries that it
	// could read together with an error.
	ReadDir func(path string) ([]DirEntry, error)
	// ReadHead returns the first n bytes of a regular file, fewer if it is shorter.
	ReadHead func(path string, n int) ([]byte, error)

	// Ancestors returns the files of the programs that this process descends from, such as its MCP
	// client. A nil function returns none.
	Ancestors func() []string

	OS  string // runtime.GOOS
	UID int    // of the user; -1 where there is none
	// OwnGroup reports whether the user is the only member of a group. Unmapped reports
	// whether a number stands for owners that this user namespace does not know, root among
	// them. nil functions return false.
	OwnGroup, Unmapped func(id int) bool
	// Account returns an error unless a file belongs to the user, to administrators or to the system of a
	// Windows. A nil function asks this machine.
	Account func(path string) error
	// SelfUnmapped reports that the user is one of these owners: no file is certainly the user's.
	SelfUnmapped bool

	User    string   // name of the user
	Home    string   // the user's home directory
	Dir     string   // the working directory of mcp-jail, which is the client's
	Environ []string // "NAME=value", of which the server gets some
	// Places are the variables of the user, as "NAME=value", that decide which files are the user's:
	// resolve.PlaceVariables. No server gets them. nil: those of Environ.
	Places []string
	// PseudoMounts are the mount points of filesystems that contain no files (proc, sysfs,
	// cgroup), outside /proc, /sys and /dev.
	PseudoMounts []string
	ConfigDir    string // mcp-jail's own: $XDG_CONFIG_HOME/mcp-jail
	StateDir     string // mcp-jail's own: $XDG_STATE_HOME/mcp-jail
	CacheDir     string // mcp-jail's own: $XDG_CACHE_HOME/mcp-jail
	DataDir      string // mcp-jail's own, with the installed packages: $XDG_DATA_HOME/mcp-jail
	Executable   string // the binary of mcp-jail; "" where it is not known
	// Configs are the files, absolute and clean, that the user named as configuration.
	Configs []string
}

// FileInfo is what a resolution needs to know of a file. Only HardLinks uses Links.
type FileInfo struct {
	Mode     fs.FileMode
	ID       policy.FileID
	Links    uint64 // names that the file has
	UID, GID int    // owner and group
	Changed  int64  // when it or its attributes were changed last, in nanoseconds since 1970; 0 where Lstat does not say
}

// DirEntry is one name in a directory. Type is fs.FileMode.Type();
// fs.ModeIrregular means that the directory does not say.
type DirEntry struct {
	Name string
	Type fs.FileMode
}

// Getenv returns the value of a variable of Environ.
func (h *Host) Getenv(name string) (string, bool) { return h.lookup(h.Environ, name) }

// UserEnv returns the value of a variable that decides which files are the user's.
func (h *Host) UserEnv(name string) (string, bool) {
	if h.Places != nil {
		return h.lookup(h.Places, name)
	}
	return h.lookup(h.Environ, name)
}

// lookup returns the value of a variable. Names of variables have no case on Windows.
func (h *Host) lookup(environ []string, name string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- { // the last one wins, as in os/exec
		e := environ[i]
		if len(e) > len(name) && e[len(name)] == '=' && (e[:len(name)] == name || h.OS == "windows" && strings.EqualFold(e[:len(name)], name)) {
			return e[len(name)+1:], true
		}
	}
	return "", false
}

// KindOf returns the kind of an entry for a file mode.
func KindOf(m fs.FileMode) policy.Kind {
	switch {
	case m.IsDir():
		return policy.KindDir
	case m.IsRegular():
		return policy.KindFile
	}
	return policy.KindSpecial
}

// SplitList returns the items of a list of paths, such as PATH, on a system as in runtime.GOOS.
func SplitList(system, list string) []string {
	if system == "windows" {
		return splitWindowsList(list)
	}
	return strings.Split(list, ":")
}

// SearchPath returns the directories in which programs of the user are looked up, absolute and clean:
// those of PATH, without relative and empty components. On macOS, a client with a window has the system's
// directories alone in PATH, so the places of Homebrew, of installers and of MacPorts come after it. On
// Windows, a directory that [hostfs.CleanWindows] refuses is left out.
func (h *Host) SearchPath() (dirs []string) {
	value, _ := h.Getenv("PATH")
	all := SplitList(h.OS, value)
	if h.OS == "darwin" {
		all = append(all, "/opt/homebrew/bin", "/usr/local/bin", "/opt/local/bin")
	}
	for _, d := range all {
		var err error
		switch {
		case h.OS == "windows":
			if d, err = CleanWindows(d); err != nil {
				continue
			}
		case !strings.HasPrefix(d, "/"):
			continue
		default:
			d = path.Clean(d)
		}
		same := func(known string) bool { return known == d || h.OS == "windows" && strings.EqualFold(known, d) }
		if !slices.ContainsFunc(dirs, same) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// splitWindowsList returns the items of a list such as PATH. Semicolons are between them, but for those in quotation
// marks. The marks are no part of an item.
func splitWindowsList(list string) (items []string) {
	item, quoted := strings.Builder{}, false
	for _, r := range list + ";" {
		switch {
		case r == '"':
			quoted = !quoted
		case r != ';' || quoted:
			item.WriteRune(r)
		default:
			items = append(items, item.String())
			item.Reset()
		}
	}
	if quoted { // a mark that nothing closes
		items = append(items, strings.TrimSuffix(item.String(), ";"))
	}
	return items
}

// A versionManager is a place in which a version manager keeps the versions of an interpreter.
type versionManager struct {
	Name     string // nvm, pyenv, …
	Language string // node or python
	Root     string // what it keeps: no server may write it
	Versions string // the directory with one directory for each version
	Program  string // the interpreter, relative to that of a version
	Variable string // a variable that names another place for it
	replaced bool   // Variable does
}

// VersionManagers returns the places of all version managers for node and python, whether they
// are there or not. A directory that a variable names replaces the usual one. Package
// packages/installed looks for interpreters there.
func (h *Host) VersionManagers() []versionManager {
	return slices.DeleteFunc(h.managerPlaces(), func(m versionManager) bool { return m.replaced })
}

// ManagerRoots returns the Roots of all version managers, also those that a variable replaces:
// another process may not have that variable. Package policy/resolve protects them.
func (h *Host) ManagerRoots() (dirs []string) {
	for _, m := range h.managerPlaces() {
		dirs = append(dirs, m.Root)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

func (h *Host) managerPlaces() (all []versionManager) {
	if h.OS == "windows" {
		return nil
	}
	place := strings.NewReplacer("~/", h.Home+"/", "$DATA/", h.dataHome()+"/").Replace
	policy.ProgramRows("manager", func(names, words []string) {
		add := func(dir string, replaced bool) {
			all = append(all, versionManager{names[0], names[2], path.Join(dir, words[0]), path.Join(dir, words[1]), words[2], names[1], replaced})
		}
		v, set := h.UserEnv(names[1])
		if set = set && path.IsAbs(v); set {
			add(v, false)
		}
		for _, dir := range words[3:] {
			if h.OS == "darwin" || !strings.HasPrefix(dir, "~/Library/") {
				add(place(dir), set)
			}
		}
	})
	return all
}

func (h *Host) dataHome() string {
	if v, ok := h.UserEnv("XDG_DATA_HOME"); ok && path.IsAbs(v) {
		return path.Clean(v)
	}
	return path.Join(h.Home, ".local/share")
}

// The disks of macOS find a name under other spellings: another letter case, or another Unicode
// form of the same letters. The kernel compares the rules of a jail with the spelling that the
// directory lists, so a canonical path there has that spelling, byte for byte. The functions of this
// file do nothing on other systems.

// dataVolume is where macOS mounts the volume with all that is not the system. Firmlinks show parts of
// it in their usual places too, such as /Users.
const dataVolume = "/System/Volumes/Data"

// spelled returns the name of an object of a canonical directory as the directory lists it.
func (f *LinkResolver) spelled(dir, name string, info FileInfo) string {
	h := f.host
	if h.OS != "darwin" || h.ReadDir == nil {
		return name
	}
	entries, known := f.spellings[dir]
	if !known {
		entries, _ = h.ReadDir(dir) // without a listing, the name stays as it is
		if f.spellings == nil {
			f.spellings = map[string][]DirEntry{}
		}
		f.spellings[dir] = entries
	}
	return listedName(h, entries, dir, name, info)
}

// listedName returns the name among entries that leads to the same object as name. It returns name if
// there is none, or if several could be meant.
func listedName(h *Host, entries []DirEntry, dir, name string, info FileInfo) string {
	if contains(entries, name) {
		return name
	}
	same := func(e DirEntry) bool {
		other, err := h.Lstat(path.Join(dir, e.Name))
		return err == nil && info.ID.Ino != 0 && other.ID == info.ID
	}
	key := spellingKey(name)
	for _, e := range entries {
		if spellingKey(e.Name) == key && same(e) {
			return e.Name
		}
	}
	// A filesystem may know more spellings than spellingKey, all of them beyond ASCII.
	found := ""
	for _, e := range entries {
		if (isASCII(name) && isASCII(e.Name)) || !same(e) {
			continue
		}
		if found != "" {
			return name // two names of one object
		}
		found = e.Name
	}
	if found == "" {
		return name
	}
	return found
}

// spellingKey is equal for names that differ in their case or their Unicode form alone.
func spellingKey(name string) string { return strings.ToLower(norm.NFD.String(name)) }

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// firmlinked returns the usual name of an object on the data volume of macOS, or the path itself.
func (f *LinkResolver) firmlinked(p string, info FileInfo) string {
	usual, inside := strings.CutPrefix(p, dataVolume)
	if f.host.OS != "darwin" || !inside || !strings.HasPrefix(usual, "/") || info.ID.Ino == 0 {
		return p
	}
	if s := f.Lstat(usual); s.Err == nil && s.Info.ID == info.ID {
		dir, name := Split(usual)
		return path.Join(dir, f.spelled(dir, name, info))
	}
	return p
}
