package doctorcmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// ownDir is a directory of mcp-jail's own in which it cannot write.
type ownDir struct {
	Dir      string `json:"dir"`
	Variable string `json:"variable"` // that names another place
	Error    string `json:"error"`
	without  string
}

func ownDirs(host hostfs.Host) []ownDir {
	return []ownDir{
		{host.StateDir, "XDG_STATE_HOME", "", "So a server with a private HOME does not start, and no session has a record"},
		{host.DataDir, "XDG_DATA_HOME", "", "So no package can be installed"},
		{host.CacheDir, "XDG_CACHE_HOME", "", "So each start does again what could be remembered"},
	}
}

// checkOwnDirs tries to write in mcp-jail's own directories, and returns those where that fails.
func checkOwnDirs(host hostfs.Host) (failed []ownDir, all []finding) {
	for _, d := range ownDirs(host) {
		isState := d.Dir == host.StateDir
		if err := tryWrite(d.Dir); err != nil {
			d.Error = err.Error()
			failed = append(failed, d)
			all = append(all, finding{Check: "directories", Stops: d.Dir != host.CacheDir, status: dirStatus(isState), File: d.Dir,
				What: "mcp-jail cannot write in " + cli.ShortPath(d.Dir, host.Home) + ": " + d.Error, Why: d.without, Fix: fixWrite(err) + "let " + d.Variable + " name another place"})
			continue
		}
		all = append(all, checkSpace(d, host)...)
		if other := otherOwner(d.Dir, host); other != "" {
			all = append(all, finding{Check: "directories", Stops: true, status: dirStatus(isState), File: other, What: cli.ShortPath(other, host.Home) + " belongs to another user",
				Why: "mcp-jail uses no file there, as after a command with sudo", Fix: "`sudo chown -R \"$USER\" " + d.Dir + "`"})
		}
	}
	return failed, append(all, checkTemp(os.TempDir())...)
}

func dirStatus(isState bool) int {
	if isState {
		return exit.Host
	}
	return exit.Failure
}

// fixWrite returns what to do about an error of a write, with what joins it to the next part, or "".
func fixWrite(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "remove something, for example with `mcp-jail rm --unused 30d`, or "
	case errors.Is(err, syscall.EROFS):
		return "mount the file system to write, or "
	}
	return ""
}

// tryWrite makes a directory in another, or where that would be made, writes a file in it, and removes both.
func tryWrite(dir string) error {
	way, err := hostfs.NewLinkResolver(hostfs.OwnerHost()).PrivateWay(dir, ".")
	if err != nil {
		return err
	}
	d, err := private.Open(way.At, ".")
	if err != nil {
		return err
	}
	defer d.Close()
	temp, err := d.MakeTemp()
	var at *fs.PathError
	switch {
	case errors.As(err, &at): // without the name, which is not the user's concern
		return fmt.Errorf("no directory can be made in %s: %w", way.At, at.Err)
	case err != nil:
		return err
	}
	written := writeIn(d, temp)
	return cmp.Or(d.RemoveAll(temp), written)
}

// writeIn writes a file in a directory: a disk that is full may still have room for directories.
func writeIn(d *private.Dir, name string) error {
	in, err := d.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	err = in.Replace("file", make([]byte, 64<<10), private.How{})
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("no file can be written there: %w", at.Err)
	}
	return err
}

const (
	littleSpace = 100_000_000 // bytes: a package may have more
	maxNames    = 2000        // that are looked at in a directory
)

// checkSpace warns of a disk that is almost full, and of one from which nothing can be executed.
func checkSpace(d ownDir, host hostfs.Host) (all []finding) {
	free, noexec, ok := fileSystemOf(d.Dir)
	if !ok {
		return nil
	}
	if free < littleSpace && d.Dir == host.DataDir {
		all = append(all, finding{Check: "directories", File: d.Dir, What: fmt.Sprintf("only %s are free for %s", cli.SizeText(free), cli.ShortPath(d.Dir, host.Home)),
			Why: "Packages with their dependencies often need more", Fix: "remove something: `mcp-jail list` shows sizes, and `mcp-jail rm --unused 30d` removes what servers have not used"})
	}
	if noexec && d.Dir != host.CacheDir {
		all = append(all, finding{Check: "directories", File: d.Dir, What: "programs below " + cli.ShortPath(d.Dir, host.Home) + " cannot be executed: its file system is mounted noexec",
			Why: "Servers with programs or add-ons of machine code do not start from there", Fix: "let " + d.Variable + " name another place"})
	}
	return all
}

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

// checkTemp checks the directory of temporary files.
func checkTemp(dir string) []finding {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		err = errors.New("it is not a directory")
	case err == nil:
		err = mayWrite(dir)
	}
	if err == nil {
		return nil
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return []finding{{Check: "directories", Stops: true, File: dir, What: fmt.Sprintf("temporary files cannot be made in %s: %s", dir, err), Why: "mcp-jail asks interpreters for their versions there, and large messages go through it", Fix: "make the directory, or let TMPDIR name another one"}}
}
