package commands

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
)

// TestElsewhere: no advice of package confine, on any system, has doctor send its reader to doctor. Another
// output of it, that of --apparmor, is meant as it is.
func TestElsewhere(t *testing.T) {
	reworded := 0
	err := filepath.WalkDir("../../../confine", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil || text == "mcp-jail doctor" || !strings.Contains(text, "mcp-jail doctor") { // a name to replace
				return true
			}
			if got := elsewhere.Replace(text); strings.Contains(strings.ReplaceAll(got, "mcp-jail doctor --apparmor", ""), "mcp-jail doctor") {
				t.Errorf("%s: doctor would print %q", path, got)
			} else if got != text {
				reworded++
			}
			return true
		})
		return nil
	})
	if err != nil || reworded < 6 {
		t.Errorf("%d texts, %v", reworded, err)
	}
	if got := featureTable([]confine.NamedFeature{{Name: "self_test", Feature: confine.Feature{Detail: "it has not run: run mcp-jail doctor, which makes the self-test"}}}, 200); !strings.Contains(got, "it has not run: run this again") {
		t.Errorf("%q", got)
	}
}
