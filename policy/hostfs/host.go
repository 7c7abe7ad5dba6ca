package hostfs

import (
	"strings"

	"io/fs"

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

	recording *Recording // that made this host, or nil
}

// FileInfo is what a resolution needs to know of a file. Only HardLinks uses Links.
type FileInfo struct {
	Mode     fs.FileMode
	ID       policy.FileID
	Links    uint64 // names that the file has
	UID, GID int    // owner and group
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
