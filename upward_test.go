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

// endless returns the variables that a loop replaces by their directory until something is true of them:
// x = path.Dir(x), x, _ = hostfs.Split(x), or dir := path.Dir(x) and x = dir. A path of Windows never
// becomes "/", so such a loop may never end. It does if it compares x with its directory, or with both "/"
// and ".", asks whether it has seen x, or counts.
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
	dirs := map[string]string{}  // variables for the directory of another one
	roots := map[string]string{} // what variables are compared with
	ast.Inspect(loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ForStmt:
			return n == loop
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				compared[dirOf(n.X)], compared[dirOf(n.Y)] = true, true
				for _, of := range [][2]ast.Expr{{n.X, n.Y}, {n.Y, n.X}} {
					if x := dirs[name(of[0])]; x != "" && x == name(of[1]) {
						compared[x] = true
					}
				}
				if text, ok := n.Y.(*ast.BasicLit); ok {
					x := name(n.X)
					roots[x] += text.Value
					compared[x] = compared[x] || strings.Contains(roots[x], `"/"`) && strings.Contains(roots[x], `"."`)
				}
			}
		case *ast.UnaryExpr: // !seen[x]: each is met once
			if seen, ok := n.X.(*ast.IndexExpr); ok && n.Op == token.NOT && loop.Cond != nil && n.Pos() < loop.Cond.End() {
				if x, ok := seen.Index.(*ast.Ident); ok {
					compared[x.Name] = true
				}
			}
		case *ast.AssignStmt:
			for i, from := range n.Rhs {
				to, x := name(n.Lhs[i]), dirOf(from)
				switch {
				case to == "": // a field
				case x == to, x == "" && dirs[name(from)] == to:
					climbed = append(climbed, to)
				case x != "":
					dirs[to] = x
				}
			}
		}
		return true
	})
	for _, x := range climbed {
		if !compared[x] && (loop.Cond == nil || asked[x]) {
			names = append(names, x)
		}
	}
	return names
}

// name returns the name of a variable, and otherwise "".
func name(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// dirOf returns x for path.Dir(x), filepath.Dir(x), winpath.Dir(x), and the same of Split, whose first
// result is the directory; otherwise "".
func dirOf(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return ""
	}
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if of := name(f.X); (f.Sel.Name == "Dir" || f.Sel.Name == "Split") && slices.Contains([]string{"path", "filepath", "winpath", "hostfs"}, of) {
			return name(call.Args[0])
		}
	case *ast.Ident: // in the package itself
		if f.Name == "Dir" || f.Name == "Split" {
			return name(call.Args[0])
		}
	}
	return ""
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
		`for { if d == "/" { return }; d, _ = hostfs.Split(d) }`:         true,
		`for { if d == "/" { return }; d = winpath.Dir(d) }`:             true,
		`for d != "/" && d != "." { d, _ = Split(d) }`:                   false,
		`for { up := path.Dir(d); if up == "/" { return }; d = up }`:     true,
		`for { up, _ := Split(d); if up == "/" { return }; d = up }`:     true,
		`for { up, _ := Split(d); if up == d { return }; d = up }`:       false,
		`for { up := path.Dir(d); if d != up { d = up; continue } }`:     false,
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
