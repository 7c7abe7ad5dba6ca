package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rawOutput lists the files of cmd that reach a standard stream by themselves, each with its reason.
// All others print through terminal.Console, whose methods let no escape sequence through.
var rawOutput = map[string]string{
	"cmd/mcp-jail/main.go":                     "makes the console",
	"cmd/mcp-jail/log.go":                      "compares a file with standard output, and does not write",
	"cmd/mcp-jail-tls/main.go":                 "the error of a worker, which has no console",
	"cmd/internal/commands/root.go":            "makes the console",
	"cmd/internal/fetching/waiter.go":          "MCP",
	"cmd/internal/session/refuse.go":           "MCP",
	"cmd/internal/session/lifecycle.go":        "MCP",
	"cmd/internal/programs/execute_windows.go": "hands its streams to the other program",
}

// rawOutputs returns what in a file of cmd writes to a standard stream by another way than the
// methods of a console.
func rawOutputs(t *testing.T, name string, src any) (out []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			text := n.Sel.Name
			if x, ok := n.X.(*ast.Ident); ok {
				text = x.Name + "." + text
			}
			if slices.Contains([]string{"os.Stdout", "os.Stderr", "os.NewFile", "fmt.Print", "fmt.Printf", "fmt.Println", "syscall.Write", "unix.Write", "log.Print", "log.Printf", "log.Println", "log.Fatal", "log.Fatalf"}, text) || n.Sel.Name == "Raw" {
				out = append(out, text)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") && f.Obj == nil && len(n.Args) > 0 {
				if _, isText := n.Args[0].(*ast.BasicLit); isText {
					out = append(out, f.Name)
				}
			}
		}
		return true
	})
	return out
}

// TestOneExitForText: what the programs write to a terminal goes through terminal.Console.
func TestOneExitForText(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir("cmd", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "cmd/internal/terminal/") {
			return err
		}
		found := rawOutputs(t, name, nil)
		if used[name] = len(found) > 0; used[name] && rawOutput[name] == "" {
			t.Errorf("%s: %s: print with the methods of terminal.Console", name, strings.Join(found, ", "))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range rawOutput {
		if !used[name] {
			t.Errorf("%s reaches no stream: take it out of rawOutput", name)
		}
	}
	for _, line := range []string{"fmt.Println(1)", "fmt.Fprint(os.Stderr, 1)", "println(\"x\")", "_, out, _ := c.Raw(); out.Write(nil)"} {
		if rawOutputs(t, "x.go", "package x\nfunc f() { "+line+" }") == nil {
			t.Errorf("%s is not found", line)
		}
	}
}
