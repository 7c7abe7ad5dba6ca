package runline

// Launcher is the command that fetches and runs a package.
type Launcher string

// The launchers. `npm x` is NpmExec, `bun x` is Bunx, `pnpx` is PnpmDlx, `uv tool run` is
// Uvx.
const (
	Npx     Launcher = "npx"
	NpmExec Launcher = "npm exec"
	Bunx    Launcher = "bunx"
	PnpmDlx Launcher = "pnpm dlx"
	YarnDlx Launcher = "yarn dlx"
	Uvx     Launcher = "uvx"
	PipxRun Launcher = "pipx run"
)

// Ecosystem is the kind of registry that packages come from.
type Ecosystem string

// The ecosystems.
const (
	NPM  Ecosystem = "npm"
	PyPI Ecosystem = "pypi"
)

// Ecosystem returns where the launcher's packages come from.
func (l Launcher) Ecosystem() Ecosystem {
	if l == Uvx || l == PipxRun {
		return PyPI
	}
	return NPM
}

// Line is what a launcher's command line asks for.
type Line struct {
	Launcher Launcher
	// Packages are installed together. There is at least one. The package of --from, or the one
	// that the word for the program names, is the first; the others are in the order of the line.
	// The first provides the program if Program is "".
	Packages []Spec
	// Program is the name of the program among those of Packages. It is "" if the launcher
	// chooses the program of the first package by its own rule. If no package has a program
	// of that name, the launcher would look for it in PATH.
	Program string
	// Args are the program's arguments.
	Args []string
	// Call is the shell command of npx --call, of which Program and Args are the words. The
	// shell has nothing to expand in it.
	Call string
	// Env are the variables that the line itself sets, in order. The program gets them, and
	// PATH among them changes where its interpreter is found.
	Env []Assignment
	// Outer are the words of programs that stay in front of the package's program, such as
	// timeout 30 and env -C DIR.
	Outer []string
	// Dir is the directory of env -C, in which the launcher and the program start. A relative one
	// begins at the working directory. "" is the working directory.
	Dir string
	// Unset are the variables of env -u.
	Unset []string
	// Options are what else decides how packages are fetched, in the order of the line and
	// with the long name of the option: {"registry", "https://..."}.
	Options []Option
	// Python is the interpreter that a Python launcher was asked for: "3.12", a name or a
	// path.
	Python string
	// Requirements are the files of uvx --with-requirements.
	Requirements []string
	// NodeOptions is npm's --node-options: the program gets it as NODE_OPTIONS.
	NodeOptions string

	NoInstall bool // the line forbids fetching: npx --no-install
	Offline   bool // the line forbids the network: --offline
	Isolated  bool // uvx --isolated: an installed tool is not used instead
	BunAsNode bool // bunx --bun: bun runs the program, whatever its first line says
	Login     bool // a login shell runs the line: its profile may set further variables

	// named reports that the packages were named by an option of their own, so that the
	// first word names only a program.
	named bool
	// typed is the word that named the package, when no option did.
	typed string
}

// Ecosystem returns where the packages come from.
func (l *Line) Ecosystem() Ecosystem { return l.Launcher.Ecosystem() }

// In returns the directory in which the line starts the program, if it is itself started in dir.
func (l *Line) In(dir string) string {
	if l.Dir == "" {
		return dir
	}
	return join(dir, l.Dir)
}

// Moving reports whether any package may be another version tomorrow, so that only a lock
// file keeps it.
func (l *Line) Moving() bool {
	for _, p := range l.Packages {
		if !p.Exact() {
			return true
		}
	}
	return len(l.Requirements) > 0
}

// Option returns the last value of an option, and whether the line has it.
func (l *Line) Option(name string) (value string, ok bool) {
	for _, o := range l.Options {
		if o.Name == name {
			value, ok = o.Value, true
		}
	}
	return value, ok
}

// Assignment is a variable that a line sets.
type Assignment struct{ Name, Value string }

// Option is an option about fetching. The value of a switch is "true" or "false".
type Option struct{ Name, Value string }
