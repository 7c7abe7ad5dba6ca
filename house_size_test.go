package house_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// A budgetRow is the most that a part of the project may have.
type budgetRow struct {
	name string
	most int
}

// budget is the size of the project. A folder has its lines of code: those of the packages that the
// three programs import on any system, without tests, comments and blank lines. A figure may only
// fall: one above its row fails, and one far below it fails until the row is lowered, which
// "go test . -run Budget -update" does. A commit that raises a row by hand names the row that falls by as
// much.
var budget = []budgetRow{
	{"clients", 3804},     // the whole chmod command
	{"cmd", 21022},        // what grant says of each flag, memories from before, files of clients that cannot be read
	{"confine", 25893},    // the same
	{"diagnostics", 5262}, // the folder that the server looked for in its own HOME
	{"docs", 98},          // cmd fell by more
	{"internal", 2817},    // what a start leaves behind is given back; other Go fell by more
	{"lifecycle", 8293},   // "Yes, in the chat"
	{"mcpproxy", 2180},    // "Yes, in the chat"; 32 bytes at a time
	{"packages", 8019},
	{"policy", 14132}, // a warning that ends with the first folder
	{"presets", 1196},
	{"undo", 1564},
	{"the product, in lines of code", 94279}, // the same
	{"the trusted part, in lines", 40025},    // of the packages that SECURITY.md names
	{"other Go code, in lines", 90281},       // the same
	{"scripts, in lines", 9365},              // their tests
	{"files of the product", 631},
	{"packages of the product", 75},
	{"functions over 60 lines", 1},
	{"exported names", 3070}, // AllowsLast, Quoted
	{"words of documentation", 49398},
	{"commands", 16},
	{"flags", 43}, // "Learning is granting in a loop": drive, budget
	{"keys", 59},  // "Yes, in the chat": ask
}

const (
	slack       = 3 // percent that a figure may be below its row
	lineColumns = 120
	mostLines   = 60 // of a function, before it counts in "functions over 60 lines"
	mostMethods = 40 // of a type
)

// codeLines counts the lines of a file that have code. A line counts once for each begun 120 columns.
func codeLines(src []byte) (n int) {
	lines := strings.Split(string(src), "\n")
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
		for line := max(first, last+1); line <= end; line++ {
			n += max(1, (utf8.RuneCountInString(lines[line-1])+lineColumns-1)/lineColumns)
		}
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

// A census counts what the files of the product declare. What several systems declare, each for
// itself, counts once.
type census struct {
	exported, long map[string]bool
	methods        map[string]map[string]bool // by type
}

func newCensus() census {
	return census{map[string]bool{}, map[string]bool{}, map[string]map[string]bool{}}
}

func (c census) add(name string, src []byte) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			of := dir + "." + receiver(d)
			if d.Recv != nil {
				if c.methods[of] == nil {
					c.methods[of] = map[string]bool{}
				}
				c.methods[of][d.Name.Name] = true
			}
			c.name(of, d.Name)
			if set.Position(d.End()).Line-set.Position(d.Pos()).Line+1 > mostLines {
				c.long[of+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					c.name(dir, s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						c.name(dir, id)
					}
				}
			}
		}
	}
	return nil
}

func (c census) name(of string, id *ast.Ident) {
	if id.IsExported() {
		c.exported[of+"."+id.Name] = true
	}
}

// tooManyMethods lists the types with more methods than a type may have.
func (c census) tooManyMethods() (faults []string) {
	for of, names := range c.methods {
		if len(names) > mostMethods {
			faults = append(faults, fmt.Sprintf("%s has %d methods: at most %d", of, len(names), mostMethods))
		}
	}
	return faults
}

// productPackages lists the directories of the packages that the three programs import on any system.
func productPackages(t *testing.T) map[string]bool {
	t.Helper()
	dirs := map[string]bool{}
	for _, system := range []string{"linux", "darwin", "windows", "freebsd"} {
		for _, name := range listed(t, "GOOS="+system, "./cmd/mcp-jail", "./cmd/mcp-jail-cli", "./cmd/mcp-jail-tls") {
			if dir, ours := strings.CutPrefix(name, module); ours {
				dirs[dir] = true
			}
		}
	}
	return dirs
}

// listed lists the packages that programs import, with a variable set.
func listed(t *testing.T, variable string, programs ...string) []string {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-deps"}, programs...)...)
	list.Env = append(os.Environ(), "CGO_ENABLED=0", variable)
	out, err := list.Output()
	testkit.Must(t, err)
	return strings.Fields(string(out))
}

// checkedOut lists the files of the checkout, without those that the tests install and the programs.
func checkedOut(t *testing.T) (names []string) {
	t.Helper()
	testkit.Must(t, filepath.WalkDir(".", func(name string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"node_modules", ".git", "bin", "vendor"}, d.Name()):
			return filepath.SkipDir
		case !d.IsDir():
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	}))
	return names
}

// measure returns today's figure for each row of the budget, and the types with too many methods.
func measure(t *testing.T) (figures map[string]int, faults []string) {
	t.Helper()
	figures = map[string]int{}
	product, declared, flags := productPackages(t), newCensus(), map[string]bool{}
	security, err := os.ReadFile("SECURITY.md")
	testkit.Must(t, err)
	parts := tableRows(string(security), "The trusted part")
	trusted := make([]int, len(parts))
	for _, name := range checkedOut(t) {
		src, err := os.ReadFile(name)
		testkit.Must(t, err)
		switch dir := path.Dir(name); {
		case strings.HasSuffix(name, ".go") && product[dir] && !strings.HasSuffix(name, "_test.go"):
			folder, _, _ := strings.Cut(name, "/")
			figures[folder] += codeLines(src)
			if part := partOf(parts, dir); part >= 0 {
				trusted[part] += codeLines(src)
			}
			figures["the product, in lines of code"] += codeLines(src)
			figures["files of the product"]++
			testkit.Must(t, declared.add(name, src))
		case strings.HasSuffix(name, ".go"):
			figures["other Go code, in lines"] += codeLines(src)
		case isScript(name, src):
			figures["scripts, in lines"] += bytes.Count(src, []byte("\n"))
		case path.Ext(name) == ".md" && (dir == "." || strings.HasPrefix(name, "docs/")):
			figures["words of documentation"] += len(bytes.Fields(src))
			if name != "docs/reference.md" {
				continue
			}
			figures["commands"] = bytes.Count(src, []byte("\nUsage: mcp-jail ")) + 1 // help
			flags["help"], flags["version"] = true, true                             // of each command, and of mcp-jail alone
			for _, row := range flagsOfPage.FindAllSubmatch(src, -1) {
				for _, m := range flagOfRow.FindAllSubmatch(row[1], -1) {
					flags[string(m[1])] = true
				}
			}
		}
	}
	for i, row := range parts {
		figures["the trusted part, in lines"] += trusted[i]
		written, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(row[2]), ",", ""))
		if testkit.Must(t, err); max(written, trusted[i])-min(written, trusted[i]) > trusted[i]*slack/100 {
			faults = append(faults, fmt.Sprintf("SECURITY.md says that %s have %d lines: they have %d", row[0], written, trusted[i]))
		}
	}
	figures["packages of the product"] = len(product)
	figures["functions over 60 lines"] = len(declared.long)
	figures["exported names"] = len(declared.exported)
	figures["flags"] = len(flags)
	figures["keys"] = len(keys(t))
	return figures, append(faults, declared.tooManyMethods()...)
}

// partOf returns the row that names a package, or the nearest folder around it; or -1.
func partOf(rows [][]string, dir string) int {
	for ; dir != "."; dir = path.Dir(dir) {
		if i := slices.IndexFunc(rows, func(row []string) bool { return slices.Contains(words(row[0]), dir) }); i >= 0 {
			return i
		}
	}
	return -1
}

// flagsOfPage finds the rows about flags in the help of commands, and flagOfRow each flag of a row.
var (
	flagsOfPage = regexp.MustCompile(`(?m)^  (--[\w-]+(?:=\S+)?(?:,? --[\w-]+(?:=\S+)?)*)  `)
	flagOfRow   = regexp.MustCompile(`--([\w-]+)`)
)

// isScript reports whether a file is a script: of the shell, of another interpreter, or of the tests of the
// command line.
func isScript(name string, src []byte) bool {
	return slices.Contains([]string{".txtar", ".sh", ".py", ".js", ".mjs"}, path.Ext(name)) || bytes.HasPrefix(src, []byte("#!"))
}

// keys returns the names of all keys of the configuration.
func keys(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("docs/mcp-jail.schema.json")
	testkit.Must(t, err)
	var schema any
	testkit.Must(t, json.Unmarshal(text, &schema))
	found := map[string]bool{}
	var look func(any)
	look = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if properties, ok := v["properties"].(map[string]any); ok {
				for key := range properties {
					found[key] = true
				}
			}
			for _, below := range v {
				look(below)
			}
		case []any:
			for _, below := range v {
				look(below)
			}
		}
	}
	look(schema)
	return found
}

// budgetFaults compares figures with the rows of a budget, both ways.
func budgetFaults(rows []budgetRow, figures map[string]int) (faults []string) {
	known := map[string]bool{}
	for _, row := range rows {
		known[row.name] = true
		n, measured := figures[row.name]
		switch {
		case !measured:
			faults = append(faults, fmt.Sprintf("the budget has a row for %q, and nothing is counted there: remove the row", row.name))
		case n > row.most:
			faults = append(faults, fmt.Sprintf("%s: %d, and the budget has %d: make it smaller, or another row by as much", row.name, n, row.most))
		case n < row.most-row.most*slack/100:
			faults = append(faults, fmt.Sprintf("%s: %d, and the budget has %d: write {%q, %d} (go test . -run Budget -update)", row.name, n, row.most, row.name, n))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		if !known[name] {
			faults = append(faults, fmt.Sprintf("the budget has no row for %q: %d", name, figures[name]))
		}
	}
	return faults
}

// lowered returns the source of a budget with lower rows, where the figures are lower. It raises none.
func lowered(source string, rows []budgetRow, figures map[string]int) string {
	for _, row := range rows {
		if n, measured := figures[row.name]; measured && n < row.most {
			source = strings.Replace(source, fmt.Sprintf("\t{%q, %d},", row.name, row.most), fmt.Sprintf("\t{%q, %d},", row.name, n), 1)
		}
	}
	return source
}

// TestBudget measures the project, and prints the rows of shape.md that have no limit yet.
func TestBudget(t *testing.T) {
	figures, faults := measure(t)
	for _, row := range budget {
		t.Logf("%-32s %7d of %7d", row.name, figures[row.name], row.most)
	}
	if testkit.Update() {
		source, err := os.ReadFile("house_size_test.go")
		testkit.Must(t, err, os.WriteFile("house_size_test.go", []byte(lowered(string(source), budget, figures)), 0o644))
		for i, row := range budget {
			if n, measured := figures[row.name]; measured {
				budget[i].most = min(row.most, n)
			}
		}
	}
	for _, fault := range append(faults, budgetFaults(budget, figures)...) {
		t.Error(fault)
	}
}

// TestBudgetFaults shows that each rule of the budget can be broken, and how the figures are counted.
func TestBudgetFaults(t *testing.T) {
	rows := []budgetRow{{"policy", 1000}, {"flags", 60}}
	for _, tt := range []struct {
		name    string
		figures map[string]int
		want    string
	}{
		{"as written", map[string]int{"policy": 1000, "flags": 60}, ""},
		{"a little below", map[string]int{"policy": 970, "flags": 59}, ""},
		{"above", map[string]int{"policy": 1001, "flags": 60}, "policy: 1001, and the budget has 1000"},
		{"far below", map[string]int{"policy": 969, "flags": 60}, `write {"policy", 969}`},
		{"a folder without a row", map[string]int{"policy": 1000, "flags": 60, "new": 1}, `no row for "new"`},
		{"a row without a folder", map[string]int{"policy": 1000}, `a row for "flags", and nothing`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(budgetFaults(rows, tt.figures), "; ")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	source := "\t{\"policy\", 1000},\n\t{\"flags\", 60},\n"
	want := "\t{\"policy\", 900},\n\t{\"flags\", 60},\n"
	if got := lowered(source, rows, map[string]int{"policy": 900, "flags": 61}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestCensus shows what counts as a line of code, an exported name, a long function and a method.
func TestCensus(t *testing.T) {
	source := "// Package p has a comment.\npackage p\n\n/* one\ntwo */ type T struct{}\n\nfunc (T) a() { // here\n\t_ = `1\n2\n3`\n}\n\nfunc (*T) B() {}\nfunc c()      {" + strings.Repeat("\n", mostLines) + "}\nvar x, Y = 1, \"" + strings.Repeat("y", lineColumns) + "\"\n"
	if n := codeLines([]byte(source)); n != 12 {
		t.Errorf("%d lines of code", n)
	}
	c := newCensus()
	testkit.Must(t, c.add("p/p.go", []byte(source)), c.add("p/p_darwin.go", []byte(source)))
	got := fmt.Sprint(slices.Sorted(maps.Keys(c.exported)), slices.Sorted(maps.Keys(c.long)), slices.Sorted(maps.Keys(c.methods["p.T"])))
	if want := "[p.T p.T.B p.Y] [p..c] [B a]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var many strings.Builder
	for i := range mostMethods {
		fmt.Fprintf(&many, "func (T) m%d() {}\n", i)
	}
	if faults := c.tooManyMethods(); faults != nil {
		t.Errorf("control: %q", faults)
	}
	testkit.Must(t, c.add("p/many.go", []byte("package p\n"+many.String())))
	if faults := c.tooManyMethods(); len(faults) != 1 || !strings.Contains(faults[0], "p.T has 42 methods") {
		t.Errorf("%q", faults)
	}
}
