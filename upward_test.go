package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// endless returns the variables that a loop replaces by their directory (x = path.Dir(x)) until
// something is true of them. A path of Windows never becomes "/", so such a loop may never end. It does
// if it compares x with its directory, asks whether it has seen x, or counts.
func endless(loop *ast.ForStmt) (names []string) {
	if _, counts := loop.Post.(*ast.IncDecStmt); counts {
		return nil
	}
	asked := map[string]bool{} // in the condition
	if loop.Cond != nil {
		ast.Inspect(loop.Cond, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				asked[id.Name] = true
			}
			return true
		})
	}
	climbed, compared := []string{}, map[string]bool{}
	ast.Inspect(loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ForStmt:
			return n == loop
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				compared[dirOf(n.X)], compared[dirOf(n.Y)] = true, true
			}
		case *ast.UnaryExpr: // !seen[x]: each is met once
			if seen, ok := n.X.(*ast.IndexExpr); ok && n.Op == token.NOT && loop.Cond != nil && n.Pos() < loop.Cond.End() {
				if x, ok := seen.Index.(*ast.Ident); ok {
					compared[x.Name] = true
				}
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if id, ok := to.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) && dirOf(n.Rhs[i]) == id.Name {
					climbed = append(climbed, id.Name)
				}
			}
		}
		return true
	})
	for _, name := range climbed {
		if !compared[name] && (loop.Cond == nil || asked[name]) {
			names = append(names, name)
		}
	}
	return names
}

// dirOf returns x for path.Dir(x) and filepath.Dir(x), and otherwise "".
func dirOf(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return ""
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Dir" {
		return ""
	}
	of, ok := f.X.(*ast.Ident)
	x, named := call.Args[0].(*ast.Ident)
	if !ok || !named || of.Name != "path" && of.Name != "filepath" {
		return ""
	}
	return x.Name
}

// TestClimbsEnd tests that no loop goes through the directories above a path until "/", which a path of
// Windows never reaches. hostfs.Upward, and a comparison of a path with its directory, end for every path.
func TestClimbsEnd(t *testing.T) {
	loops := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if loop, ok := n.(*ast.ForStmt); ok {
				loops++
				for _, x := range endless(loop) {
					t.Errorf("%s: the loop replaces %s by its directory, and may not end on Windows: end it where the path is its own directory", set.Position(loop.Pos()), x)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || loops < 100 {
		t.Fatal(loops, err)
	}
}

// TestEndlessIsFound tests the rule of TestClimbsEnd with loops of each form.
func TestEndlessIsFound(t *testing.T) {
	for text, want := range map[string]bool{
		`for d := p; d != "/"; d = path.Dir(d) {}`:                       true,
		`for ; ; d = filepath.Dir(d) { if d == "/" { return } }`:         true,
		`for d != "/" { d = path.Dir(d) }`:                               true,
		`for has(d) { d, n = filepath.Dir(d), n+1 }`:                     true,
		`for d != path.Dir(d) { d = path.Dir(d) }`:                       false,
		`for ; ; d = path.Dir(d) { if filepath.Dir(d) == d { return } }`: false,
		`for i := 3; i > 0; i-- { d = path.Dir(d) }`:                     false,
		`for todo != "" { d = path.Dir(d) }`:                             false,
		`for range hostfs.Upward(p) { d = path.Dir(d) }`:                 false,
		`for { for d != "/" { d = path.Dir(d) } }`:                       true,
		`for d := p; !seen[d]; d = path.Dir(d) { seen[d] = true }`:       false,
		`for d := p; !said[d].Has(x); d = path.Dir(d) {}`:                true,
		`for { f := func() { d = path.Dir(d) }; f() }`:                   false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { "+text+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		ast.Inspect(file, func(n ast.Node) bool {
			if loop, ok := n.(*ast.ForStmt); ok {
				found = found || len(endless(loop)) > 0
			}
			return true
		})
		if found != want {
			t.Errorf("%s: %t", text, found)
		}
	}
}
