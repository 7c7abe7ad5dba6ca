package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// starts lists the files of the product that start a program outside of a jail, or put one in the
// place of this process, each with its reason, and with what is in its environment ("" where none is
// chosen there). Nothing else of the product does: what a package, a place or a variable brings runs
// in a jail (package packages/jail), or not at all.
var starts = map[string]struct{ why, environment string }{
	"confine/egress/egresstest/egresstest.go":   {"tests only: no line of mayImport has it", ""},
	"confine/egress/egresstest/start_linux.go":  {"the same", ""},
	"internal/testkit/testkit.go":               {"the same", ""},
	"internal/testkit/namespaces_linux.go":      {"the same", ""},
	"cmd/internal/programs/execute_unix.go":     {"mcp-jail-cli, from the directory of mcp-jail", "everything: mcp-jail becomes mcp-jail-cli"},
	"cmd/internal/programs/execute_windows.go":  {"the same", "the same"},
	"cmd/internal/session/package_install.go":   {"the same, which fetches a package", "everything: mcp-jail starts mcp-jail-cli"},
	"cmd/internal/session/takeover.go":          {"the same, which looks into the files of clients", "everything: mcp-jail starts mcp-jail-cli"},
	"cmd/internal/commands/prefetch/fetch.go":   {"mcp-jail-cli, from its own directory, which fetches a package", "everything, as a client of the user has it, and what the entry sets"},
	"cmd/internal/commands/callcmd/session.go":  {"mcp-jail run, from the directory of mcp-jail-cli", "everything, as a client of the user has it, and what the entry sets"},
	"confine/internal/gateway/secrets.go":       {"the command of a secret, which the user has configured", "environ.Build, and what the command names"},
	"confine/jailed/command.go":                 {"the running program, again", "everything: a program that uses mcp-jail's packages starts itself"},
	"confine/fork_linux.go":                     {"the running program, as the supervisor of a jail", "nothing, or GOMAXPROCS and GOGC: mcp-jail starts itself"},
	"confine/internal/sandboxexec/start.go":     {"sandbox-exec, which executes the running program in the jail, and that as the watcher", "nothing, and GOMAXPROCS"},
	"confine/internal/sandboxexec/inside.go":    {"the program of a jail, from inside", "the server's, in its jail"},
	"confine/internal/features/userns_linux.go": {"no program: the path does not exist", "nothing, and no program: the kernel is probed"},
	"confine/internal/supervisor/exec_linux.go": {"the program of a jail, from inside", "the server's, in its jail"},
	"confine/launcher_windows.go":               {"the program of a jail, in its job", "the server's, in its jail"},
	"confine/internal/winjail/start_windows.go": {"the same", "the same"},
	"confine/internal/stub/process_linux.go":    {"the same", ""},
	"confine/internal/selftest/run.go":          {"the running program, in jails and as their control", "nothing"},
	"confine/internal/selftest/serve.go":        {"programs of the system and of the self-test's own, inside of its jails and as their control", "PATH"},
	"confine/internal/jail/start_linux.go":      {"no program: it names the call in an error", ""},
}

// startingCalls are what starts a program, for each package that has it. The constants are those
// of system calls.
var startingCalls = map[string][]string{
	"os/exec":                  {"Command", "CommandContext", "Cmd"},
	"os":                       {"StartProcess"},
	"syscall":                  {"ForkExec", "StartProcess", "Exec", "SYS_EXECVE", "SYS_EXECVEAT"},
	"golang.org/x/sys/windows": {"CreateProcess"},
	"golang.org/x/sys/unix":    {"Exec", "SYS_EXECVE", "SYS_EXECVEAT"},
}

// startsOf returns what a file of the product uses to start programs; src replaces its content.
func startsOf(t *testing.T, name string, src any) []string {
	t.Helper()
	return usesOf(t, name, src, startingCalls)
}

// usesOf returns the calls, for each package that has them, that a file of the product uses; src
// replaces its content.
func usesOf(t *testing.T, name string, src any, calls map[string][]string) (found []string) {
	t.Helper()
	if isFree(path.Dir(name)) {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imported := map[string][]string{}
	for _, spec := range file.Imports {
		from, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		as := path.Base(from)
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if imported[as] = calls[from]; as == "." && imported[as] != nil {
			found = append(found, "all of "+from)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(imported[x.Name], s.Sel.Name) {
				found = append(found, x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return found
}

// TestStartsOf shows that a start of a program is found, however it is written.
func TestStartsOf(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"policy/a.go", "import \"os/exec\"\nvar _ = exec.Command(\"npm\").Run()", "exec.Command"},
		{"policy/b_darwin.go", "import run \"os/exec\"\nfunc f() { run.CommandContext(nil, \"npm\") }", "run.CommandContext"},
		{"policy/c.go", "import \"os/exec\"\nvar c = exec.Cmd{Path: \"npm\"}", "exec.Cmd"},
		{"policy/d.go", "import . \"os/exec\"\nvar c = Command(\"npm\")", "all of os/exec"},
		{"policy/e.go", "import \"os\"\nvar start = os.StartProcess", "os.StartProcess"},
		{"policy/f.go", "import \"syscall\"\nfunc f() { syscall.ForkExec(\"\", nil, nil) }", "syscall.ForkExec"},
		{"policy/g.go", "import \"golang.org/x/sys/unix\"\nvar n = unix.SYS_EXECVEAT", "unix.SYS_EXECVEAT"},
		{"policy/h.go", "import \"os/exec\"\nvar f, _ = exec.LookPath(\"npm\")", ""},
		{"examples/i.go", "import \"os/exec\"\nvar c = exec.Command(\"npm\")", ""},
	} {
		if got := strings.Join(startsOf(t, c.name, "package x\n"+c.src), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
