package python

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// An EntryPoint is a function that a console script calls.
type EntryPoint struct{ Name, Module, Function string }

var (
	entryPoint = show.Pattern(`^([A-Za-z0-9_.]+)\s*:\s*([A-Za-z0-9_.]+)(?:\s*\[.*\])?$`)
	scriptName = show.Pattern(`^[A-Za-z0-9_+][A-Za-z0-9_.+-]*$`)
	identifier = show.Pattern(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
)

// EntryPoints returns the programs in an entry_points.txt: its console_scripts and gui_scripts. Like
// pip, it leaves out a line that has another form.
func EntryPoints(text string) (programs []EntryPoint) {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.TrimSpace(strings.Trim(line, "[]"))
		}
		name, value, _ := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		m := entryPoint().FindStringSubmatch(strings.TrimSpace(value))
		if m == nil || !scriptName().MatchString(name) || !identifier().MatchString(m[1]) || !identifier().MatchString(m[2]) {
			continue
		}
		if section == "console_scripts" || section == "gui_scripts" {
			programs = append(programs, EntryPoint{name, m[1], m[2]})
		}
	}
	return programs
}

// ChildrenFile is the file of a tree that a Python program loads if a program of the tree has
// started it.
const ChildrenFile = "children/sitecustomize.py"

// setup is the part that starters and Children share. tree is the directory of the tree.
const setup = `
def setup(tree):
    # The order of a virtual environment: the standard library, then the tree. The
    # machine's own packages are left out.
    ours = [os.path.join(tree, name) for name in ("bin", "children")]
    sys.path[:] = [p for p in sys.path if os.path.basename(p) not in ("site-packages", "dist-packages") and p not in ours]
    site.addsitedir(os.path.join(tree, "site"))
`

const starter = `#!/usr/bin/env python3
import os, site, sys
` + setup + `
def main():
    tree = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    setup(tree)
    # Programs that this one starts with the same interpreter have the packages, too.
    os.environ["MCP_JAIL_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.path.join(tree, "children"), os.environ.get("PYTHONPATH")]))
    os.environ["PYTHONNOUSERSITE"] = "1"

main()
if __name__ == "__main__":
    from %[1]s import %[2]s
    sys.exit(%[3]s())
`

// Starter returns the file that starts a program of a tree. It is in bin/.
func (e EntryPoint) Starter() string {
	first, _, _ := strings.Cut(e.Function, ".")
	return fmt.Sprintf(starter, e.Module, first, e.Function)
}

// Children returns the text of ChildrenFile. It shows the tree's packages to programs that run on
// the interpreter of the tree's program. It does not show them to others, such as programs that run
// on the interpreter of a user's project.
func Children() string {
	return "import os, site, sys\n" + setup + `
if os.environ.get("MCP_JAIL_PYTHON") == sys.executable:
    setup(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
`
}

// IsStarter reports whether a program of bin/ is to be run by Python: its first line says so.
func IsStarter(head []byte) bool {
	line, _, _ := strings.Cut(string(head), "\n")
	return strings.HasPrefix(line, "#!") && strings.Contains(line, "python")
}

// Portable returns a program of bin/ with a #! line that names no interpreter of this machine by
// its path. It reports false if the program is not one of Python.
func Portable(program []byte) ([]byte, bool) {
	first, rest, _ := strings.Cut(string(program), "\n")
	switch second, after, _ := strings.Cut(rest, "\n"); {
	case first == "#!/bin/sh" && strings.HasPrefix(second, "'''exec' ") && strings.Contains(second, "python"):
		_, rest, _ = strings.Cut(after, "\n") // the form for a long path has three lines
	case !IsStarter(program):
		return program, false
	}
	return []byte("#!/usr/bin/env python3\n" + rest), true
}

// A ProgramError says that a package has no program of the name that a line asks for.
type ProgramError struct {
	Package, Program string
	Names            []string // the programs that the package has
}

func (e *ProgramError) Error() string {
	if len(e.Names) == 0 {
		return fmt.Sprintf("%s has no program %s, and no other: it is a library", e.Package, e.Program)
	}
	return fmt.Sprintf("%s has no program %s; it has %s. Name one: uvx --from %s %s",
		e.Package, e.Program, strings.Join(e.Names[:min(len(e.Names), 8)], ", "), e.Package, e.Names[0])
}
