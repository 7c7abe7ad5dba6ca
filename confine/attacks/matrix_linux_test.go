package attacks

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAttackMatrix compares the committed table with the attacks of this package, without making
// them: their groups, names, order and numbers of forms. A number is compared on amd64, where the
// table was made. It also looks for the tests that the page names for other attacks.
func TestAttackMatrix(t *testing.T) {
	page := testkit.Get(os.ReadFile(tableFile))(t)
	_, rest, _ := strings.Cut(string(page), tableBegin)
	committed, elsewhere, ok := strings.Cut(rest, tableEnd)
	if !ok {
		t.Fatalf("%s has no place for the table", tableFile)
	}
	if missing := slices.DeleteFunc(testName.FindAllString(elsewhere, -1), testFunctions(t).has); len(missing) > 0 {
		t.Errorf("%s names tests that do not exist: %q", tableFile, missing)
	}
	got, want := matrixRows(committed), sourceRows()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("the table in %s differs from the source in row %d: run TestAttackTable with -update as root\ntable:  %q\nsource: %q",
				tableFile, i+1, got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
		}
	}
	attacks, forms := 0, 0
	for _, g := range allAttacks() {
		for _, a := range g.attacks {
			attacks++
			for _, form := range a.forms {
				forms += len(attacker.ABIs(form))
			}
		}
	}
	if sum := fmt.Sprintf(": %d attacks in %d variants; ", attacks, forms); runtime.GOARCH == "amd64" && !strings.Contains(committed, sum) {
		t.Errorf("the table in %s does not begin with %q: run TestAttackTable with -update as root", tableFile, sum)
	}
}

// sourceRows returns a line for each group and each attack of this package.
func sourceRows() (rows []string) {
	for _, g := range allAttacks() {
		rows = append(rows, g.title)
		for _, a := range g.attacks {
			forms := 0
			for _, form := range a.forms {
				forms += len(attacker.ABIs(form))
			}
			rows = append(rows, matrixRow(a.what, fmt.Sprint(forms)))
		}
	}
	return rows
}

// matrixRows returns the same for the text of a table.
func matrixRows(table string) (rows []string) {
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "**"):
			rows = append(rows, strings.Trim(line, "*"))
		case strings.HasPrefix(line, "| ") && cell(line, 1) != "attack":
			forms, _, _ := strings.Cut(cell(line, 2), " ")
			rows = append(rows, matrixRow(cell(line, 1), forms))
		}
	}
	return rows
}

func matrixRow(what, forms string) string {
	if runtime.GOARCH != "amd64" {
		return what
	}
	return what + ": " + forms
}

var testName = regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w*`)

// names is a set of functions.
type names map[string]bool

func (n names) has(name string) bool { return n[name] }

// testFunctions returns the tests of the whole module.
func testFunctions(t *testing.T) names {
	t.Helper()
	found := names{}
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name] = true
			}
		}
		return nil
	})
	testkit.Must(t, err)
	return found
}
