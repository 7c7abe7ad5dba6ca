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
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestHarms: what trust says of the rules of a project's file.
func TestHarms(t *testing.T) {
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	p := &policy.Policy{
		Fs:  []policy.FsRule{{Path: ".", Read: true}, {Path: "~/.npm", Create: true}, {Path: "~/.bashrc", Update: true}, {Path: "~/a/b/c", Read: true}, {Path: "~/.ssh", Read: true}, {Path: "/", Where: "a denial"}},
		Net: []policy.NetRule{{Host: "10.0.0.1", Allow: true}, {Host: "a.example", Allow: true}, {Host: "10.0.0.2"}},
		Env: []policy.EnvRule{{Name: "A_TOKEN", Read: true}, {Name: "LANGUAGE_OF_IT", Read: true}},
	}
	var got []string
	for _, w := range harms(p, host) {
		got = append(got, strings.Fields(w.Message)[1])
	}
	if want := "~/.npm ~/.bashrc 10.0.0.1 A_TOKEN LANGUAGE_OF_IT"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

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
