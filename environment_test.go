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
	"policy/hostfs/local.go":                    "the host as a resolution sees it: what it reads of that is read by name",
	"policy/config/load.go":                     "the same",
	"cmd/internal/programs/programs.go":         "mcp-jail becomes mcp-jail-cli",
	"cmd/internal/commands/complete.go":         "names of variables for a shell to propose",
	"packages/install/fetch_python_config.go":   "environ.Build",
	"confine/internal/gateway/secrets_linux.go": "environ.Build, and what the command names",
}

// variableByName are the files that read a variable whose name is not written there, with the
// reason.
var variableByName = map[string]string{
	"policy/hostfs/host.go":                     "Host.Getenv itself",
	"policy/hostfs/local.go":                    "USER, LOGNAME and the XDG variables, which its literals name",
	"packages/runtime/managers.go":              "the variables of version managers, which its literals name",
	"packages/runtime/shim.go":                  "the same",
	"packages/install/credentials.go":           "authorities, which its literals name, and what an .npmrc names",
	"packages/install/npmconfig.go":             "proxies, which its literals name",
	"packages/install/fetch_python_config.go":   "what python.UvConfig names",
	"packages/python/config.go":                 "UV_INDEX_…, and what its literals name",
	"confine/egress/tlsworker/find.go":          "rootsVariables",
	"confine/egress/tlsworker/worker_linux.go":  "rootsVariables",
	"confine/internal/gateway/secrets_linux.go": "the variable of a secret, which the user's configuration names",
	"clients/place.go":                          "the variables of clients, which the literals of that package name",
	"cmd/internal/target/registries.go":         "indexes, which its literals name",
	"cmd/internal/target/package.go":            "the variable of a package's data, for its jail",
	"cmd/internal/commands/plan_wrapped.go":     "what environ.MaySet lets an entry set",
	"policy/resolve/secret_command.go":          "what the words of a secret's command name",
	"policy/resolve/environ.go":                 "the variables of a server",
	"lifecycle/catalog/packagemanager.go":       "the server's variables, from its profile",
}

// environmentReads returns what a file reads of the environment: names, and faults.
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
	ast.Inspect(file, func(n ast.Node) bool {
		if use, ok := n.(*ast.SelectorExpr); ok && use.Sel.Name == "Environ" {
			if x, ok := use.X.(*ast.Ident); ok && (x.Name == "os" || x.Name == "syscall" || x.Name == "unix") && wholeEnvironment[name] == "" {
				fault(n, "the whole environment is read: give the reason in wholeEnvironment")
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		var called string
		switch f := call.Fun.(type) {
		case *ast.SelectorExpr:
			called = f.Sel.Name
		case *ast.Ident:
			called = f.Name
		}
		if !slices.Contains([]string{"Getenv", "getenv", "LookupEnv", "ExpandEnv", "Setenv", "Unsetenv"}, called) {
			return true
		}
		if called == "ExpandEnv" {
			fault(n, "ExpandEnv reads variables that a text names")
			return true
		}
		if lit, ok := call.Args[0].(*ast.BasicLit); ok {
			text, _ := strconv.Unquote(lit.Value)
			found = append(found, text)
		} else if variableByName[name] == "" && !constantIn(file, call.Args[0], &found) {
			fault(n, "the name of a variable is not written here: give the reason in variableByName")
		}
		return true
	})
	if variableByName[name] != "" || usesEnvironment(file) {
		found = append(found, literalNames(file)...)
	}
	for _, v := range found {
		if _, known := environ.Find(v); !known {
			faults = append(faults, name+": the table of package environ lacks "+v)
		}
	}
	return found, faults
}

// constantIn adds the value of a constant of the same file.
func constantIn(file *ast.File, x ast.Expr, found *[]string) (ok bool) {
	id, isName := x.(*ast.Ident)
	if !isName {
		return false
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if is && len(spec.Values) == 1 && spec.Names[0].Name == id.Name {
			if lit, is := spec.Values[0].(*ast.BasicLit); is {
				text, _ := strconv.Unquote(lit.Value)
				*found, ok = append(*found, text), true
			}
		}
		return true
	})
	return ok
}

// usesEnvironment reports whether a file makes the environment of a program.
func usesEnvironment(file *ast.File) (uses bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for _, left := range assign.Lhs {
			if s, ok := left.(*ast.SelectorExpr); ok && s.Sel.Name == "Env" {
				if x, ok := s.X.(*ast.Ident); ok && (x.Name == "cmd" || x.Name == "attr") {
					uses = true
				}
			}
		}
		return true
	})
	return uses
}

// variableName matches a text that is the name of a variable, or one with a value.
var variableName = regexp.MustCompile(`^(PATH|HOME|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|[A-Za-z_]{3,}=.*)$`)

// literalNames returns the names of variables among the texts of a file.
func literalNames(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && variableName.MatchString(text) {
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
	all := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin" || name == "internal/testkit" || isFree(name)):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || isFree(path.Dir(name)):
			return nil
		}
		found, faults := environmentReads(t, name, nil)
		for _, v := range found {
			all[v] = true
		}
		for _, f := range faults {
			t.Error(f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 || !all["FNM_DIR"] || !all["XDG_CONFIG_HOME"] || !all["PIP_DISABLE_PIP_VERSION_CHECK"] {
		t.Errorf("control: only %d variables were found: %v", len(all), all)
	}
}

// TestEnvironmentFaults shows that the rule can fail.
func TestEnvironmentFaults(t *testing.T) {
	for src, want := range map[string]string{
		`var _ = os.Getenv("NEW_THING")`:                        "lacks NEW_THING",
		`var _ = os.Getenv("HOME")`:                             "",
		`func f(h Host) { h.Getenv("NEW_THING") }`:              "lacks NEW_THING",
		`func f(n string) { os.LookupEnv(n) }`:                  "not written here",
		"const c = \"NEW_THING\"\nfunc f() { os.LookupEnv(c) }": "lacks NEW_THING",
		`var _ = os.ExpandEnv("$X")`:                            "ExpandEnv",
		`var _ = os.Environ()`:                                  "whole environment",
		`func f(cmd C) { cmd.Env = []string{"NEW_THING=1"} }`:   "lacks NEW_THING",
	} {
		_, got := environmentReads(t, "policy/x.go", "package policy\n"+src)
		if text := strings.Join(got, "; "); want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", src, text, want)
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
	begin, rest, ok := strings.Cut(string(text), "-update -->\n")
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
		who := map[environ.Setter]string{environ.Nobody: "nobody", environ.User: "user", environ.Project: "project"}[row.May]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.Join(row.Names, "`, `"), strings.Join(readers, ", "), row.For, who)
	}
	if want := begin + "-update -->\n" + b.String() + "<!-- /environ -->" + end; want != string(text) {
		if testkit.Update() {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Error(file + " is not the table of package environ: go test . -run EnvironmentPage -update")
	}
}
