package hostfs

import (
	"io/fs"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Host is the one door through which facts about the machine enter: what
// [Resolve] may ask, and nothing else. [LocalHost] is the real one; tests use a
// map. The functions may be called from several goroutines.
//
// Paths are absolute and clean. Lstat, Readlink, ReadDir and ReadHead answer as
// their namesakes of package os do, with errors that match fs.ErrNotExist and
// fs.ErrPermission.
type Host struct {
	Lstat    func(path string) (FileInfo, error)
	Readlink func(path string) (string, error)
	// ReadDir lists a directory in any order, with the types that the directory
	// itself records and without looking at the files; it may return what it
	// could read together with an error.
	ReadDir func(path string) ([]DirEntry, error)
	// ReadHead returns the first n bytes of a regular file, fewer if it is shorter.
	ReadHead func(path string, n int) ([]byte, error)
	// OneName reports whether two spellings that lead to one object are one name to the
	// kernel, so that what is mounted on the one is found by the other. nil: they are not.
	SameName func(a, b string) bool

	OS  string // runtime.GOOS
	UID int    // of the user; -1 where there is none
	// OwnGroup tells whether nobody but the user is in a group, Unmapped whether a number
	// stands for owners that this user namespace does not know, with root among them. nil
	// says no.
	OwnGroup, Unmapped func(id int) bool

	User    string   // name of the user
	Home    string   // the user's home directory
	Dir     string   // the working directory of mcp-jail, which is the client's
	Environ []string // "NAME=value"
	// KernelPlaces are the mount points of filesystems that are not made of files
	// (proc, sysfs, cgroup), outside of /proc, /sys and /dev.
	PseudoMounts []string
	ConfigDir    string // mcp-jail's own: $XDG_CONFIG_HOME/mcp-jail
	StateDir     string // mcp-jail's own: $XDG_STATE_HOME/mcp-jail
	CacheDir     string // mcp-jail's own: $XDG_CACHE_HOME/mcp-jail
	Executable   string // the binary of mcp-jail; "" where it is not known
	// Configs are files, absolute and clean, that the user named as configuration.
	Configs []string
}

// FileInfo is what this package needs to know of a file. Links is for HardLinks alone.
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

// getenv looks a variable up as the user's shell set it.
func (h *Host) Getenv(name string) (string, bool) {
	for i := len(h.Environ) - 1; i >= 0; i-- { // the last one wins, as in os/exec
		e := h.Environ[i]
		if len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
			return e[len(name)+1:], true
		}
	}
	return "", false
}

// kindOf maps a file mode to the kinds of an entry.
func KindOf(m fs.FileMode) policy.Kind {
	switch {
	case m.IsDir():
		return policy.KindDir
	case m.IsRegular():
		return policy.KindFile
	}
	return policy.KindSpecial
}
