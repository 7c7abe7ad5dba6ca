package install

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// mayRunScripts returns an error where scripts of packages never run: on Windows npm gives each to
// cmd.exe, and a jail there refuses neither files nor hosts.
func mayRunScripts(system string, packages []npm.Package) error {
	if system != "windows" || len(packages) == 0 {
		return nil
	}
	return fmt.Errorf("the install scripts of %s are refused on Windows: npm gives them to cmd.exe, and no jail keeps them from files and hosts there. Install without them (no --install-scripts, install_scripts = false), or run the server in WSL 2", strings.Join(names(packages), ", "))
}

// canFetchOn returns an error for packages that are not fetched on a system: those of Python on Windows,
// which was not tried.
func canFetchOn(system string, line *runline.Line) error {
	if system != "windows" || line.Ecosystem() != runline.PyPI {
		return nil
	}
	return errors.New(line.Packages[0].String() + ": packages of Python are not fetched on Windows, where that was not tried yet. Install it yourself, for example with  uv tool install, and start its program by its path; or run the server in WSL 2")
}
