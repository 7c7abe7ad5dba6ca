package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const architecture = "docs/architecture.md"

// tableRows returns the cells of all tables below a heading, without the heads of the tables.
func tableRows(page, heading string) (rows [][]string) {
	_, rest, _ := strings.Cut(page, "\n## "+heading+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	head := false
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			head = true
		case strings.HasPrefix(line, "|---"):
			head = false
		case !head:
			rows = append(rows, strings.Split(strings.Trim(line, "|"), "|"))
		}
	}
	return rows
}

var codeWords = regexp.MustCompile("`([^`]+)`")

// words returns what stands in code in a cell of a table.
func words(cell string) (out []string) {
	for _, m := range codeWords.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

// walkFaults lists what is wrong with one row of a walk: files that do not exist, and functions
// that none of them declares.
func walkFaults(t *testing.T, row []string) (faults []string) {
	t.Helper()
	declared := map[string]bool{}
	dir := ""
	for _, name := range words(row[1]) {
		if strings.Contains(name, "/") {
			dir = path.Dir(name)
		} else {
			name = dir + "/" + name
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(name), nil, parser.SkipObjectResolution)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				declared[f.Name.Name] = true
			}
		}
	}
	for _, name := range words(row[2]) {
		if !declared[name] {
			faults = append(faults, "row "+strings.TrimSpace(row[0])+": no file of "+strings.TrimSpace(row[1])+" declares "+name)
		}
	}
	return faults
}

// packageReturns lists the packages to which the rows of a walk come back after they have left
// them.
func packageReturns(rows [][]string) (back []string) {
	left, at := map[string]bool{}, ""
	for _, row := range rows {
		for _, name := range words(row[1]) {
			if dir := path.Dir(name); dir != "." && dir != at {
				if left[at] = true; left[dir] {
					back = append(back, "row "+strings.TrimSpace(row[0])+" comes back to "+dir)
				}
				at = dir
			}
		}
	}
	return back
}

// TestWalks looks for each file and function of the walks in docs/architecture.md, and tests that a
// walk comes to each package once.
func TestWalks(t *testing.T) {
	rows := tableRows(testkit.ReadFile(t, architecture), "Four walks through the source")
	if len(rows) < 20 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		for _, fault := range walkFaults(t, row) {
			t.Error(fault)
		}
	}
	walks := 0
	for len(rows) > 0 {
		end := slices.IndexFunc(rows[1:], func(row []string) bool { return strings.TrimSpace(row[0]) == "1" }) + 1
		if end == 0 {
			end = len(rows)
		}
		for _, back := range packageReturns(rows[:end]) {
			t.Error(back)
		}
		rows = rows[end:]
		walks++
	}
	if walks != 4 {
		t.Errorf("%d walks", walks)
	}
	again := packageReturns([][]string{{"1", "`a/x.go`"}, {"2", "`b/x.go`, `y.go`"}, {"3", "`a/y.go`"}})
	missing := walkFaults(t, []string{"1", " `policy/allows.go` ", " `NoSuchFunction` "})
	if len(again) != 1 || len(missing) != 1 {
		t.Errorf("controls: %q, %q", again, missing)
	}
}

// TestFloors compares the floors of docs/architecture.md with the table of imports: each package
// has a place, and imports none of a floor above.
func TestFloors(t *testing.T) {
	page := testkit.ReadFile(t, architecture)
	floor, number := map[string]int{}, 0
	for _, row := range tableRows(page, "Packages by floor") {
		if len(row) < 3 { // the table of confine/internal
			continue
		}
		if strings.TrimSpace(row[0]) != "" {
			number++
		}
		for _, name := range words(row[1]) {
			floor[name] = number
		}
	}
	may := imports(t)
	for dir, names := range may {
		if name, inside := strings.CutPrefix(dir, "confine/internal/"); inside {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s does not name %s", architecture, dir)
			}
			continue
		}
		if floor[dir] == 0 {
			t.Errorf("%s has no place for %s", architecture, dir)
		}
		for _, name := range names {
			if floor[name] > floor[dir] {
				t.Errorf("%s imports %s, which stands above it in %s", dir, name, architecture)
			}
		}
	}
	for name := range floor {
		if may[name] == nil && !isFree(name) {
			t.Errorf("%s has a place for %s, which is no package", architecture, name)
		}
	}
}

var directModule = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`) // an indirect one has a comment

// TestDependencies tests that docs/architecture.md says what each module of go.mod is for.
func TestDependencies(t *testing.T) {
	_, table, _ := strings.Cut(testkit.ReadFile(t, architecture), "\n## Dependencies\n")
	modules := directModule.FindAllStringSubmatch(testkit.ReadFile(t, "go.mod"), -1)
	if len(modules) < 10 {
		t.Fatalf("%d modules", len(modules))
	}
	for _, m := range modules {
		name := regexp.MustCompile(`/v\d+$`).ReplaceAllString(m[1], "")
		name = strings.TrimPrefix(strings.TrimPrefix(name, "github.com/"), "golang.org/")
		if !strings.Contains(table, name) {
			t.Errorf("%s does not say what %s is for", architecture, m[1])
		}
	}
}
