package doctorcmd

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// leastFree is the free space, in bytes, below which a package may not fit.
const leastFree = 500e6

// folderChecks finds those of mcp-jail's own folders that it cannot use: they belong to another user, as after a command
// with sudo, or cannot be written, or the disk is full.
func folderChecks(host hostfs.Host) (all []check) {
	free := int64(-1)
	for _, dir := range []string{host.ConfigDir, host.StateDir, host.DataDir, host.CacheDir} {
		other := otherOwner(dir, host)
		at, err := canWrite(dir)
		switch left := freeBytes(at); {
		case other != "":
			all = append(all, check{fails, "folders", other + " belongs to another user, so mcp-jail does not use it", []advice{{"To make it yours:", "sudo chown -R \"$USER\" " + show.Spelled([]string{dir})}}})
		case err != nil:
			all = append(all, check{mark: fails, subject: "folders", text: "mcp-jail cannot write to " + dir + ": " + err.Error()})
		case left >= 0 && (free < 0 || left < free):
			free = left
		}
	}
	if all != nil {
		return all
	}
	k := check{mark: well, subject: "folders", text: "mcp-jail can write to its own folders"}
	if free >= 0 {
		k.text += " (" + cli.SizeText(free) + " free)"
	}
	if free >= 0 && free < leastFree {
		k.mark = note
	}
	return []check{k}
}

// canWrite reports whether a directory can be written, or made. It returns the directory that exists.
func canWrite(dir string) (at string, err error) {
	for at = dir; ; at = filepath.Dir(at) {
		if err = mayWrite(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return at, err
		}
	}
}

const maxNames = 2000 // that are looked at in a directory

// otherOwner returns a file of another user in one of mcp-jail's own directories, or in a directory
// there. It returns "" if there is none.
func otherOwner(dir string, host hostfs.Host) string {
	if host.UID < 0 {
		return ""
	}
	d, err := private.Open(dir, ".")
	if err != nil {
		return ""
	}
	defer d.Close()
	seen := 0
	var look func(name string, depth int) string
	look = func(name string, depth int) string {
		entries, err := fs.ReadDir(d.Root().FS(), name)
		if err != nil {
			return ""
		}
		for _, e := range entries {
			if seen++; seen > maxNames {
				return ""
			}
			below := filepath.Join(name, e.Name())
			if info, err := host.Lstat(filepath.Join(dir, below)); err == nil && info.UID != host.UID {
				return filepath.Join(dir, below)
			}
			if e.IsDir() && depth > 1 {
				if other := look(below, depth-1); other != "" {
					return other
				}
			}
		}
		return ""
	}
	return look(".", 2)
}
