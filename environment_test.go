package house_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/environ"
)

// readers are functions that read a variable which their argument names. implied are functions that
// read variables without an argument.
var (
	readers = []string{"Getenv", "getenv", "LookupEnv", "UserEnv", "Env", "Setenv", "Unsetenv", "variable"}
	implied = map[string][]string{
		"FromEnvironment":      {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUEST_METHOD"},
		"ProxyFromEnvironment": {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUEST_METHOD"},
		"UserHomeDir":          {"HOME", "USERPROFILE"},
		"UserConfigDir":        {"XDG_CONFIG_HOME", "APPDATA"},
		"UserCacheDir":         {"XDG_CACHE_HOME", "LOCALAPPDATA"},
		"TempDir":              {"TMPDIR", "TMP", "TEMP"},
		"MkdirTemp":            {"TMPDIR"},
		"CreateTemp":           {"TMPDIR"},
		"LookPath":             {"PATH"},
	}
)

// reads are what a file reads of the environment: names, and calls whose variable is not written there.
type reads struct{ named, unnamed []string }

func readsOf(s source) (r reads) {
	called := map[ast.Node]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called[n.Fun] = true
			function, _ := nameOf(n.Fun)
			if !slices.Contains(readers, function) || len(n.Args) == 0 {
				break
			}
			if text, ok := writtenText(s.file, n.Args[0]); ok {
				r.named = append(r.named, text)
			} else {
				r.unnamed = append(r.unnamed, function+" of a name that is not written here")
			}
		case *ast.SelectorExpr:
			function, _ := nameOf(n)
			r.named = append(r.named, implied[function]...)
			handedOn := slices.Contains([]string{"Getenv", "LookupEnv", "UserEnv"}, function) && !called[n]
			if handedOn || function == "ExpandEnv" {
				r.unnamed = append(r.unnamed, function)
			}
		}
		return true
	})
	return r
}

// environOf returns where a file reads the whole environment.
func environOf(s source) (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "Environ" {
			found = append(found, "Environ")
		}
		return true
	})
	return found
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
				text, ok = writtenText(file, lit)
			}
		}
		return true
	})
	return text, ok
}

// variableName matches a text that is the name of a variable, or one with a value.
var variableName = regexp.MustCompile(`^([A-Z][A-Z0-9]{3,}|[A-Z][A-Z0-9]*(_[A-Z0-9*]+)+|[A-Za-z_]{3,}=.*)$`)

// placeholders stand for a name or a file in usage lines, or are errors, among the texts of such a file.
var placeholders = []string{"NAME", "FILE", "EPERM", "ENOENT"}

// literalNames returns the names of variables among the texts of a file.
func literalNames(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			if err == nil && variableName.MatchString(text) && !slices.Contains(placeholders, text) {
				text, _, _ = strings.Cut(text, "=")
				found = append(found, text)
			}
		}
		return true
	})
	return found
}

// variables returns the variables that a file of the product reads, or gives to a program.
func (h *house) variables(s source) []string {
	if h.forTests(s.dir) {
		return nil
	}
	names := readsOf(s).named
	if h.may["variable"][s.name] == "" && h.may["start"][s.name] == "" {
		return names
	}
	written := literalNames(s.file)
	h.used["variable "+s.name] = h.used["variable "+s.name] || len(written) > 0
	return append(names, written...)
}

// unknownVariables lists the variables of a file that the table of package environ lacks.
func unknownVariables(h *house, s source) (faults []string) {
	for _, name := range h.variables(s) {
		if _, known := environ.Find(name); !known {
			faults = append(faults, "the table of package environ lacks "+name)
		}
	}
	return faults
}

// directReads returns the variables of a file which a project's entry may set for a server without a launcher.
func directReads(h *house, s source) []string {
	return only("package", func(s source) (found []string) {
		for _, name := range h.variables(s) {
			if row, _ := environ.Find(name); row.May == environ.Direct {
				found = append(found, name)
			}
		}
		return found
	})(h, s)
}
