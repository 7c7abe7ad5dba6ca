package install

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
)

// mayRunScripts returns an error where scripts of packages never run: on Windows npm gives each to
// cmd.exe, and a jail there refuses neither files nor hosts.
func mayRunScripts(system string, packages []npm.Package) error {
	if system != "windows" || len(packages) == 0 {
		return nil
	}
	return fmt.Errorf("the install scripts of %s are refused on Windows: npm gives them to cmd.exe, and no jail keeps them from files and hosts there. Install without them (no --install-scripts, install_scripts = false), or run the server in WSL 2", strings.Join(names(packages), ", "))
}

// mayBuild returns an error where no source distribution is built: on Windows no jail keeps its code from
// files and hosts.
func mayBuild(system, requirement string) error {
	if system != "windows" {
		return nil
	}
	return fmt.Errorf("%s has no wheel for this machine, only a source distribution. To build it runs its code, which is refused on Windows: no jail keeps that from files and hosts there. Ask for a version that has a wheel, or run the server in WSL 2", requirement)
}

// lookForPythonOnWindows returns an error if there is no file that could be a Python, or could name one.
func (i *Installer) lookForPythonOnWindows() error {
	file, refused := runtime.CandidateOnWindows(&i.Host, i.untrusted, runtime.Python)
	if file != "" {
		return nil
	}
	ignored := i.ignoredPaths()
	if refused != "" {
		ignored = " (" + refused + ")"
	}
	return errors.New("python.exe was not found in PATH" + ignored + ", nor where the installer of Python, pyenv-win and uv put it, and there is no py.exe: it runs the packages of Python. Install it, for example with  winget install Python.Python.3.13")
}

// pipFilesOfWindows returns the paths of pip's configuration files on Windows, in the order of pipFiles. own
// is the one that PIP_CONFIG_FILE names; if it is there, the user's others do not count.
func pipFilesOfWindows(getenv func(string) string, home, python, own string) (files []string) {
	files = []string{below(getenv("PROGRAMDATA"), `\pip\pip.ini`)}
	if _, err := os.Stat(own); own == "" || err != nil {
		files = append(files, below(home, `\pip\pip.ini`), below(getenv("APPDATA"), `\pip\pip.ini`))
	}
	files = append(files, below(winpath.Dir(python), `\pip.ini`), own)
	return slices.DeleteFunc(files, func(file string) bool { return !isWhole("windows", file) })
}

// uvFilesOfWindows returns the paths of uv's configuration files on Windows: the user's and the system's.
func uvFilesOfWindows(getenv func(string) string) (files []string) {
	files = []string{below(getenv("APPDATA"), `\uv\uv.toml`), below(getenv("PROGRAMDATA"), `\uv\uv.toml`)}
	return slices.DeleteFunc(files, func(file string) bool { return !isWhole("windows", file) })
}

func below(dir, name string) string { return strings.TrimRight(dir, `\`) + name }

// isLauncher reports whether a program of bin/ is one that pip makes on Windows for an entry point: an .exe
// with an archive at its end, whose only file starts the entry point by the path of this machine's Python.
func isLauncher(root *os.Root, name string) bool {
	if !strings.EqualFold(path.Ext(name), ".exe") {
		return false
	}
	f, err := root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxMetadata {
		return false
	}
	archive, err := zip.NewReader(f, info.Size())
	return err == nil && len(archive.File) == 1 && archive.File[0].Name == "__main__.py"
}
