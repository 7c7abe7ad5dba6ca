package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Program is mcp-jail as clients start it.
type Program struct {
	wrapping.Program
	cached string // the directory of the programs, if a launcher may empty it; else ""
}

// FindProgram returns the program that the files of clients are to name. It is the one in
// PATH, if that is this program: the path stays when a package manager replaces the program.
// The cache of npx does not stay, so a copy is to be started instead ([Program.Keep]).
func FindProgram(host hostfs.Host) (Program, error) {
	path, err := cmdline.Beside(cmdline.Main)
	if err != nil {
		return Program{}, err
	}
	own, err := os.Stat(path)
	if err != nil {
		return Program{}, fmt.Errorf("%s is missing, which the clients are to start: %w", path, err)
	}
	kept := CopyPath(host)
	// The file may be gone when a client starts it.
	if InLauncherCache(path) {
		return Program{wrapping.Program{Path: kept, Also: []string{path}}, filepath.Dir(path)}, nil
	}
	p := Program{Program: wrapping.Program{Path: path, Also: []string{kept}}}
	if found, err := exec.LookPath(cmdline.Main); err == nil && filepath.IsAbs(found) {
		if info, err := os.Stat(found); err == nil && os.SameFile(info, own) {
			p.Path = found
		}
	}
	return p, nil
}

// CopyPath returns the path of the copy that clients start.
func CopyPath(host hostfs.Host) string {
	return filepath.Join(host.DataDir, "bin", cmdline.File(cmdline.Main))
}

// InLauncherCache reports whether a path lies in a directory of npx, bunx, pnpm dlx or yarn dlx. These
// launchers empty or replace such a directory.
func InLauncherCache(path string) bool {
	for name := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if name == "_npx" || name == "dlx" || strings.HasPrefix(name, "dlx-") || strings.HasPrefix(strings.TrimPrefix(name, "."), "bunx-") {
			return true
		}
	}
	return false
}

// About says where the program lies that the clients will start, if the user must know that: at once if it may soon be
// gone, and else in a note.
func (p Program) About(home string) (urgent, notes []string) {
	at := show.Line(cli.ShortPath(p.Path, home))
	switch {
	case p.cached != "":
		notes = []string{"Your clients will start " + at + ", a copy of this program: the one that npx fetched may go."}
	case strings.HasPrefix(p.Path, filepath.Clean(os.TempDir())+string(filepath.Separator)):
		urgent = []string{"Your clients will start " + at + ", which may be removed with other temporary files. Install mcp-jail in a lasting place first."}
	case isBuild(p.Path):
		notes = []string{"Your clients will start " + at + ", which was built in a clone. Keep it there."}
	}
	return urgent, notes
}

func isBuild(path string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(path)), "go.mod"))
	return err == nil
}

// Keep copies the programs to a lasting place if they are in a cache, also over an older copy. mcp-jail comes last: a
// client that starts it meanwhile finds the other programs of its build, or gets an error.
func (p Program) Keep() error {
	if p.cached == "" {
		return nil
	}
	// The directory is that of CopyPath.
	dir, err := private.Make(filepath.Dir(filepath.Dir(p.Path)), filepath.Base(filepath.Dir(p.Path)))
	if err != nil {
		return fmt.Errorf("no copy of mcp-jail could be made for the clients: %w", err)
	}
	defer dir.Close()
	for _, name := range []string{"mcp-jail-tls", cmdline.Companion, cmdline.Main} {
		file := cmdline.File(name)
		err := copyProgram(filepath.Join(p.cached, file), dir, file)
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && name == "mcp-jail-tls") { // which is optional
			return fmt.Errorf("no copy of %s could be made for the clients: %w", name, err)
		}
	}
	return nil
}

// copyProgram puts a copy of a program into a directory, in the place of another file. If that file
// has the same content and mode, it stays.
func copyProgram(from string, dir *private.Dir, name string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	there, err := dir.ReadFile(name, int64(len(content)))
	// Windows has no modes.
	executable := func(info fs.FileInfo) bool { return info.Mode() == 0o755 || runtime.GOOS == "windows" }
	if info, looked := dir.Lstat(name); err == nil && looked == nil && executable(info) && bytes.Equal(there, content) {
		return nil
	}
	return dir.Replace(name, content, private.How{Mode: 0o755, Sync: true})
}
