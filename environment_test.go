package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// wholeEnvironment are the files that read every variable, with the reason.
var wholeEnvironment = map[string]string{
	"policy/hostfs/local.go":                   "Host.Environ: what is read of it is read by name",
	"policy/hostfs/host.go":                    "Host.Getenv itself",
	"policy/hostfs/slashed.go":                 "the same environment with slashes in its paths: what is read of it is read by name",
	"policy/resolve/coarse.go":                 "the server's environment, of which the policy decides; names have no case on Windows",
	"cmd/internal/commands/wrapcmd/refused.go": "the PATH with which a client would start a program of Windows",
	"cmd/internal/programs/programs.go":        "mcp-jail becomes mcp-jail-cli",
	"cmd/internal/commands/cli/proposals.go":   "names of variables for a shell to propose",
	"cmd/internal/commands/callcmd/session.go": "mcp-jail run, as a client of the user starts it",
	"cmd/internal/commands/prefetch/find.go":   "mcp-jail-cli, as the session that a client starts would start it",
	"cmd/internal/session/package_find.go":     "the variables that a launcher's line sets for its server are added",
	"cmd/internal/wrapping/program.go":         "the variables that an entry sets are added, for what a start finds",
	"packages/sources/npm.go":                  "variables that begin with npm_config_",
	"packages/sources/python.go":               "variables that begin with PIP_ or UV_",
	"packages/jail/jail.go":                    "the variables of a small jail are added, and its policy has these by name",
	"confine/internal/gateway/secrets.go":      "environ.Build, and what the command names",
	"policy/resolve/environ.go":                "the variables of a server, by its rules",
	"policy/resolve/secret_command.go":         "variables that a secret's command does not get",
}

// variableByName are the files that read a variable whose name is not written there, or hand on a
// function that does, with the reason. The collector takes all names in these files for read.
var variableByName = map[string]string{
	"packages/install/logins.go":                        "the proxy of a configuration, for the egress",
	"cmd/internal/commands/callcmd/inputs.go":           "the variable that has the value of --input",
	"cmd/internal/commands/callcmd/session.go":          "what an entry sets, before learn starts the server",
	"cmd/internal/commands/grantcmd/grant.go":           "the name that the user typed",
	"cmd/internal/wrapping/asclient.go":                 "a variable of a client's file",
	"cmd/internal/wrapping/internal/meaning/replace.go": "a variable of a client's file, whose default counts where it is not set",
	"confine/fork_linux.go":                             "the environment of the process that it starts, which is written there",
	"policy/hostfs/host.go":                             "Host.Getenv itself, and UserEnv",
	"policy/hostfs/slashed.go":                          "the same environment with slashes in its paths: what is read of it is read by name",
	"cmd/internal/session/variable.go":                  "those of a withheld authority, for the file in it, which a diagnosis names",
	"confine/jailed/command.go":                         "resolve.PlaceVariables",
	"confine/internal/features/userns_linux.go":         "those that sandboxAround names",
	"policy/resolve/authorities.go":                     "policy.AuthorityVariables",
	"policy/hostfs/owner.go":                            "the XDG variables",
	"policy/hostfs/local.go":                            "USER, LOGNAME and the XDG variables",
	"policy/hostfs/manager.go":                          "places of version managers",
	"policy/resolve/internal/places/deciding.go":        "places that variables move",
	"policy/hostfs/shim.go":                             "the version that a version manager starts",
	"packages/sources/npm.go":                           "what npm's files name",
	"cmd/internal/session/package_find.go":              "the variable of a package's data, for its jail",
	"packages/sources/read.go":                          "the variables of its table",
	"packages/sources/python.go":                        "the same",
	"presets/entry.go":                                  "the function variable, which is about an entry",
	"confine/internal/gateway/secrets.go":               "the variable of a secret, which the user's configuration names",
	"clients/place.go":                                  "files of clients, which the other files of that package name",
	"cmd/internal/session/preset.go":                    "what a preset names, for its server",
	"cmd/internal/wrapping/grant.go":                    "what a preset names, for its server",
	"cmd/internal/commands/index/selection.go":          "the function for package clients",
	"cmd/internal/wrapping/variables.go":                "what environ.MaySet lets an entry set",
	"policy/resolve/harm.go":                            "proxies, whose names it lists",
	"policy/resolve/secret_command.go":                  "what the words of a secret's command name",
	"policy/resolve/environ.go":                         "the variables of a server",
}

// forPackages are the files that read variables which an entry of a project's file may set if no
// launcher starts its server and no preset grants it anything (environ.Direct), with the reason why
// they act on no such server.
var forPackages = map[string]string{
	"packages/sources/netrc.go":  "it fetches packages",
	"packages/sources/python.go": "the same",
	"policy/hostfs/shim.go":      "which of the installed versions runs in the jail; a file of the project says it, too",
	"policy/resolve/environ.go":  "what the server gets in its jail",
}

// readers are functions that read a variable which their argument names. implied are functions that
// read variables without an argument.
var (
	readers = []string{"Getenv", "getenv", "LookupEnv", "UserEnv", "Env", "Setenv", "Unsetenv", "variable"}
	implied = map[string][]string{
		"FromEnvironment": {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUEST_METHOD"}, "ProxyFromEnvironment": {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUEST_METHOD"},
		"UserHomeDir": {"HOME", "USERPROFILE"}, "UserConfigDir": {"XDG_CONFIG_HOME", "APPDATA"}, "UserCacheDir": {"XDG_CACHE_HOME", "LOCALAPPDATA"},
		"TempDir": {"TMPDIR", "TMP", "TEMP"}, "MkdirTemp": {"TMPDIR"}, "CreateTemp": {"TMPDIR"}, "LookPath": {"PATH"},
	}
	starters = []string{"Command", "CommandContext", "StartProcess", "ForkExec", "Exec"}
)

// environmentReads returns what a file reads of the environment, or hands on: names, and faults.
func environmentReads(t *testing.T, name string, src any) (found []string, faults []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	fault := func(at ast.Node, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s: %s", set.Position(at.Pos()), fmt.Sprintf(format, args...)))
	}
	var called []ast.Node // selectors that a call has
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called = append(called, n.Fun)
			function, owner := nameOf(n.Fun)
			switch {
			case slices.Contains(starters, function) && slices.Contains([]string{"os", "exec", "syscall", "unix"}, owner) && starts[name].environment == "":
				fault(n, "a program is started: say in starts what is in its environment")
			case !slices.Contains(readers, function) || len(n.Args) == 0:
			default:
				if text, ok := writtenText(file, n.Args[0]); ok {
					found = append(found, text)
				} else if variableByName[name] == "" {
					fault(n, "the name of a variable is not written here: give the reason in variableByName")
				}
			}
		case *ast.SelectorExpr:
			function, owner := nameOf(n)
			found = append(found, implied[function]...)
			switch {
			case function == "ExpandEnv":
				fault(n, "ExpandEnv reads variables that a text names")
			case function == "Environ" && wholeEnvironment[name] == "":
				fault(n, "the whole environment is read: give the reason in wholeEnvironment")
			case slices.Contains([]string{"Getenv", "LookupEnv", "UserEnv"}, function) && !slices.Contains(called, ast.Node(n)) && variableByName[name] == "":
				fault(n, "%s.%s is handed on: give the reason in variableByName", owner, function)
			case owner == "exec" && function == "Cmd" && starts[name].environment == "":
				fault(n, "a program is started: say in starts what is in its environment")
			}
		}
		return true
	})
	if variableByName[name] != "" || starts[name].environment != "" {
		found = append(found, literalNames(file)...)
	}
	for _, v := range found {
		if _, known := environ.Find(v); !known {
			faults = append(faults, name+": the table of package environ lacks "+v)
		}
	}
	return found, faults
}

// nameOf returns the name of a function, and of the package or value before its dot.
func nameOf(x ast.Node) (function, owner string) {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			owner = id.Name
		}
		return x.Sel.Name, owner
	case *ast.Ident:
		return x.Name, ""
	}
	return "", ""
}

// writtenText returns the value of a text, or of a constant of the same file.
func writtenText(file *ast.File, x ast.Expr) (text string, ok bool) {
	if lit, is := x.(*ast.BasicLit); is {
		text, err := strconv.Unquote(lit.Value)
		return text, err == nil
	}
	id, isName := x.(*ast.Ident)
	if !isName {
		return "", false
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if is && len(spec.Values) == 1 && spec.Names[0].Name == id.Name {
			if lit, is := spec.Values[0].(*ast.BasicLit); is {
				var err error
				text, err = strconv.Unquote(lit.Value)
				ok = err == nil
			}
		}
		return true
	})
	return text, ok
}

// variableName matches a text that is the name of a variable, or one with a value.
var variableName = regexp.MustCompile(`^([A-Z][A-Z0-9]{3,}|[A-Z][A-Z0-9]*(_[A-Z0-9*]+)+|[A-Za-z_]{3,}=.*)$`)

// placeholders stand for a name or a file in usage lines, among the texts of such a file.
var placeholders = []string{"NAME", "FILE"}

// literalNames returns the names of variables among the texts of a file.
func literalNames(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && variableName.MatchString(text) && !slices.Contains(placeholders, text) {
				text, _, _ = strings.Cut(text, "=")
				found = append(found, text)
			}
		}
		return true
	})
	return found
}

// TestEnvironment reads every Go file of the product: each variable that it reads, and each that
// it gives to a program, is in the table of package environ.
func TestEnvironment(t *testing.T) {
	all, direct := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin" || name == "internal/testkit" || strings.HasSuffix(name, "test") || isFree(name)):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || isFree(path.Dir(name)):
			return nil
		}
		found, faults := environmentReads(t, name, nil)
		for _, v := range found {
			all[v] = true
			if row, _ := environ.Find(v); row.May == environ.Direct {
				direct[name] = true
				if forPackages[name] == "" {
					t.Errorf("%s reads %s, which a project's entry may set for a server without a launcher: say in forPackages why it does not act on such a server, or change its row", name, v)
				}
			}
		}
		for _, f := range faults {
			t.Error(f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range forPackages {
		if !direct[name] {
			t.Errorf("%s is in forPackages, and reads no such variable", name)
		}
	}
	for _, named := range []map[string]string{wholeEnvironment, variableByName} {
		for name := range named {
			if _, err := os.Stat(name); err != nil {
				t.Errorf("a reason is given for a file that is gone: %v", err)
			}
		}
	}
	if len(all) < 60 || !all["FNM_DIR"] || !all["GOPATH"] || !all["RBENV_VERSION"] || !all["XDG_CONFIG_HOME"] || !all["XDG_CONFIG_DIRS"] {
		t.Errorf("control: only %d variables were found: %v", len(all), all)
	}
}

// TestEnvironmentFaults shows that the rule can fail.
func TestEnvironmentFaults(t *testing.T) {
	for src, want := range map[string]string{
		`var _ = os.Getenv("NEW_THING")`:                        "lacks NEW_THING",
		`var _ = os.Getenv("HOME")`:                             "",
		`func f(h Host) { h.Getenv("NEW_THING") }`:              "lacks NEW_THING",
		`func f(h Host) { h.UserEnv("NEW_THING") }`:             "lacks NEW_THING",
		`func f(n string) { os.LookupEnv(n) }`:                  "not written here",
		"const c = \"NEW_THING\"\nfunc f() { os.LookupEnv(c) }": "lacks NEW_THING",
		`var _ = os.ExpandEnv("$X")`:                            "ExpandEnv",
		`var _ = os.Environ()`:                                  "whole environment",
		`func f(h Host) { for range h.Environ { } }`:            "whole environment",
		`func f(h Host) string { return h.Env("NEW_THING") }`:   "lacks NEW_THING",
		`var f = os.Getenv`:                                     "os.Getenv is handed on",
		`var _ = exec.Command("x")`:                             "a program is started",
		`var _ = exec.Cmd{Path: "x"}`:                           "a program is started",
	} {
		_, got := environmentReads(t, "policy/x.go", "package policy\n"+src)
		if text := strings.Join(got, "; "); want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", src, text, want)
		}
	}
	for src, want := range map[string]string{
		`func f(cmd C) { cmd.Env = []string{"NEW_THING=1"} }`: "lacks NEW_THING",
		`var names = []string{"NEWTHING"}`:                    "lacks NEWTHING",
		`var _ = httpproxy.FromEnvironment()`:                 "",
	} {
		if _, got := environmentReads(t, "packages/sources/read.go", "package install\n"+src); !strings.Contains(strings.Join(got, "; "), want) {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

// TestEnvironmentPage compares docs/reference.md with the table. -update writes the page.
func TestEnvironmentPage(t *testing.T) {
	const file = "docs/reference.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, rest, ok := strings.Cut(string(text), "-args -update -->\n")
	_, end, closed := strings.Cut(rest, "<!-- /environ -->")
	if !ok || !closed {
		t.Fatal(file + " has no place for the table")
	}
	var b strings.Builder
	b.WriteString("| variable | reader | for | entry |\n|---|---|---|---|\n")
	for _, row := range environ.Rows() {
		var readers []string
		for _, r := range row.Readers {
			readers = append(readers, string(r))
		}
		who := map[environ.Setter]string{environ.Nobody: "nobody", environ.User: "user", environ.Direct: "project, without a launcher or preset", environ.Project: "project"}[row.May]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.Join(row.Names, "`, `"), strings.Join(readers, ", "), row.For, who)
	}
	if want := begin + "-args -update -->\n" + b.String() + "<!-- /environ -->" + end; want != string(text) {
		if testkit.Update() {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Error(file + " is not the table of package environ: go test . -run EnvironmentPage -args -update")
	}
}
