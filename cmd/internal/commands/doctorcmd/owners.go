package doctorcmd

import (
	"io/fs"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// checkOwners finds files of other users in mcp-jail's own directories.
func checkOwners(host hostfs.Host) (all []finding) {
	for _, dir := range []string{host.StateDir, host.DataDir, host.CacheDir} {
		if other := otherOwner(dir, host); other != "" {
			all = append(all, finding{Stops: true, File: other, What: cli.ShortPath(other, host.Home) + " belongs to another user",
				Why: "mcp-jail uses no file there, as after a command with sudo", Fix: "`sudo chown -R \"$USER\" " + dir + "`"})
		}
	}
	return all
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
