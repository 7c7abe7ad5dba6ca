package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// Limits of a package and of a type of the product.
const (
	mostCode    = 3000 // lines of code, without comments and blank lines
	mostMethods = 40
)

// exceptions are the packages and types over a limit, with what they have. A figure may only fall.
var exceptions = map[string]int{}

// codeLines counts the lines of a file that have code.
func codeLines(src []byte) (n int) {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	last := 0
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		// A raw string of several lines is one token.
		first := file.Line(pos)
		end := first + strings.Count(text, "\n")
		n += max(0, end-max(first-1, last))
		last = max(last, end)
	}
}

// receiver returns the name of the type that a function is a method of, or "".
func receiver(f *ast.FuncDecl) (name string) {
	if f.Recv == nil {
		return ""
	}
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// addSizes adds the lines of code of a file to those of its package, and counts the methods of its
// types. A method that several systems declare, each for itself, counts once: sizes has its name too.
func addSizes(t *testing.T, sizes map[string]int, name string, src []byte) {
	t.Helper()
	dir := path.Dir(name)
	sizes[dir] += codeLines(src)
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
			of := dir + "." + receiver(f)
			if sizes[of+"."+f.Name.Name]++; sizes[of+"."+f.Name.Name] == 1 {
				sizes[of]++
			}
		}
	}
}

// sizeFaults lists the packages and types over their limits, and the exceptions that are none.
func sizeFaults(sizes, exceptions map[string]int) (faults []string) {
	limit := func(name string) (int, string) {
		if strings.Contains(path.Base(name), ".") {
			return mostMethods, "methods"
		}
		return mostCode, "lines of code"
	}
	for name, n := range sizes {
		most, unit := limit(name)
		if n > max(most, exceptions[name]) {
			faults = append(faults, fmt.Sprintf("%s has %d %s: at most %d", name, n, unit, max(most, exceptions[name])))
		}
	}
	for name := range exceptions {
		if most, unit := limit(name); sizes[name] <= most {
			faults = append(faults, fmt.Sprintf("%s has %d %s: it is no exception any more", name, sizes[name], unit))
		}
	}
	return faults
}

// TestSizes measures every package and type of the product, and files for every system.
func TestSizes(t *testing.T) {
	sizes := map[string]int{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || isFree(path.Dir(filepath.ToSlash(name))):
			return nil
		}
		src, err := os.ReadFile(name)
		if err == nil {
			addSizes(t, sizes, filepath.ToSlash(name), src)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range sizeFaults(sizes, exceptions) {
		t.Error(fault)
	}
}

// TestSizeFaults shows that both limits can be passed, and how lines are counted.
func TestSizeFaults(t *testing.T) {
	source := "// Package p has a comment.\npackage p\n\n/* one\ntwo */ type t struct{}\n\nfunc (t) a() { // here\n\t_ = `1\n2\n3`\n}\n\nfunc (*t) b() {}\nfunc c()      {}\n"
	if n := codeLines([]byte(source)); n != 9 {
		t.Errorf("%d lines of code", n)
	}
	sizes := map[string]int{}
	addSizes(t, sizes, "policy/p.go", []byte(source))
	if sizes["policy"] != 9 || sizes["policy.t"] != 2 {
		t.Errorf("the source has %v", sizes)
	}
	for _, c := range []struct {
		sizes, exceptions map[string]int
		want              string
	}{
		{map[string]int{"policy": mostCode, "policy.Profile": mostMethods}, nil, ""},
		{map[string]int{"policy": mostCode + 1}, nil, "policy has 3001 lines of code: at most 3000"},
		{map[string]int{"policy.Profile": mostMethods + 1}, nil, "policy.Profile has 41 methods: at most 40"},
		{map[string]int{"policy": 3100}, map[string]int{"policy": 3100}, ""},
		{map[string]int{"policy": 3101}, map[string]int{"policy": 3100}, "policy has 3101 lines of code: at most 3100"},
		{map[string]int{"policy": 2999}, map[string]int{"policy": 3100}, "it is no exception any more"},
		{nil, map[string]int{"policy.Gone": 41}, "it is no exception any more"},
	} {
		got := strings.Join(sizeFaults(c.sizes, c.exceptions), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v, except %v: %q, want %q", c.sizes, c.exceptions, got, c.want)
		}
	}
}
