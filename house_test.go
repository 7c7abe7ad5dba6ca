// Package house_test holds the sources to the rules of docs/architecture.md: which package may import
// which, and which files start programs, open files, print and read variables.
// testdata/house has what is allowed.
package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const architecture = "docs/architecture.md"

const module = "github.com/mcp-jail/mcp-jail/"

var emptyNames = []string{"util", "utils", "common", "helpers", "helper", "base", "types", "misc", "shared"}

// A source is a Go file that is no test.
type source struct {
	name, dir string // with slashes
	file      *ast.File
}

// parse parses a Go file; src replaces its content.
func parse(t *testing.T, name string, src any) source {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	testkit.Must(t, err)
	return source{name, path.Dir(name), file}
}

// table reads a file of testdata/house: heads, and below each of them words in lines that are indented.
func table(t *testing.T, name string) map[string][]string {
	t.Helper()
	rows, head := map[string][]string{}, ""
	for line := range strings.Lines(testkit.ReadFile(t, "testdata/house/"+name+".txt")) {
		switch words := strings.Fields(line); {
		case len(words) == 0 || words[0] == "#":
		case line[0] == ' ':
			rows[head] = append(rows[head], words...)
		default:
			head = strings.TrimSpace(line)
			rows[head] = []string{}
		}
	}
	return rows
}

// A place is the row of a package in the table "Packages by floor" of docs/architecture.md.
type place struct {
	row         int
	pure, tests bool
}

// placesOf reads that table.
func placesOf(page string) map[string]place {
	_, page, _ = strings.Cut(page, "\n## Packages by floor\n")
	page, _, _ = strings.Cut(page, "\n## ")
	places, row := map[string]place{}, 0
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		row++
		for _, m := range regexp.MustCompile("`([^`]+)`( \\(pure\\))?").FindAllStringSubmatch(cells[2], -1) {
			places[m[1]] = place{row, m[2] != "", strings.TrimSpace(cells[1]) == "tests"}
		}
	}
	return places
}

// A house has the table of packages, and those of testdata/house.
type house struct {
	t      *testing.T
	places map[string]place
	may    map[string]map[string]string // reasons, by the name of a rule, and a file or package
	used   map[string]bool              // rules and files or packages of may that are needed
}

func newHouse(t *testing.T) *house {
	h := &house{t, placesOf(testkit.ReadFile(t, architecture)), map[string]map[string]string{}, map[string]bool{}}
	for _, rule := range []string{"start", "open", "print", "environment", "variable", "package", "sentence", "judge"} {
		h.may[rule] = map[string]string{}
		for reason, names := range table(t, rule) {
			for _, name := range names {
				h.may[rule][name] = reason
			}
		}
	}
	return h
}

// forTests reports whether a package is no part of the product: it is for tests, or below one that is.
func (h *house) forTests(dir string) bool {
	if strings.HasSuffix(dir, "test") {
		return true
	}
	for ; dir != "."; dir = path.Dir(dir) {
		if h.places[dir].tests {
			return true
		}
	}
	return false
}

// rules find what is against the house in one file.
var rules = map[string]func(*house, source) []string{
	"import":      importFaults,
	"shape":       shapeFaults,
	"start":       only("start", callsOf(startingCalls)),
	"open":        only("open", callsOf(openingCalls)),
	"print":       only("print", printsOf),
	"environment": only("environment", environOf),
	"variable":    only("variable", func(s source) []string { return readsOf(s).unnamed }),
	"package":     directReads,
	"known":       unknownVariables,
	"sentence":    sentencesRead,
	"judge":       changesJudged,
}

// only returns the rule that a file of the product does something only if the table of that name has it or its package.
func only(rule string, find func(source) []string) func(*house, source) []string {
	return func(h *house, s source) []string {
		if h.forTests(s.dir) {
			return nil
		}
		found := find(s)
		if len(found) == 0 {
			return nil
		}
		for _, entry := range []string{s.name, s.dir} {
			if h.may[rule][entry] != "" {
				h.used[rule+" "+entry] = true
				return nil
			}
		}
		return []string{fmt.Sprintf("%s: see testdata/house/%s.txt", strings.Join(found, ", "), rule)}
	}
}

// importFaults lists the imports of a file that its package may not have.
func importFaults(h *house, s source) (faults []string) {
	free := h.forTests(s.dir)
	at, known := h.places[s.dir]
	if !free && !known {
		faults = append(faults, "the package "+s.dir+" has no row in "+architecture)
	}
	for _, spec := range s.file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		testkit.Must(h.t, err)
		first, _, _ := strings.Cut(imported, "/")
		ours, isOurs := strings.CutPrefix(imported, module)
		switch {
		case imported == "C":
			faults = append(faults, "cgo")
		case at.pure && (first == "os" || imported == "syscall"):
			faults = append(faults, s.dir+" is pure: it may not import "+imported)
		// The paths of a profile have slashes on every system: a loop by filepath.Dir does not end for them.
		case imported == "path/filepath" && (s.dir == "policy" || strings.HasPrefix(s.dir, "policy/resolve")):
			faults = append(faults, s.dir+" has paths with slashes: it may not import "+imported)
		case isOurs && !free && h.forTests(ours):
			faults = append(faults, s.dir+" may not import "+ours+", which is for tests")
		case isOurs && !free && known && h.places[ours].row > at.row:
			faults = append(faults, s.dir+" may not import "+ours+", whose row in "+architecture+" is below its own")
		}
	}
	return faults
}

// shapeFaults lists what no file may have: an empty name, and what runs at each start.
func shapeFaults(h *house, s source) (faults []string) {
	if slices.Contains(emptyNames, s.file.Name.Name) {
		faults = append(faults, "the package name "+s.file.Name.Name+" says nothing")
	}
	if h.forTests(s.dir) {
		return faults
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				faults = append(faults, "an init function")
			}
		case *ast.GenDecl:
			if compiles(d) {
				faults = append(faults, "a regular expression is compiled at each start: compile it when it is used (sync.OnceValue)")
			}
		}
	}
	return faults
}

// compiles reports whether a variable of a package is a compiled regular expression. That took up to 0.6
// ms of each start of mcp-jail and of each supervisor.
func compiles(d *ast.GenDecl) (found bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		_, function := n.(*ast.FuncLit)
		s, selects := n.(*ast.SelectorExpr)
		found = found || selects && s.Sel.Name == "MustCompile"
		return !function
	})
	return found
}

// partOfSentence is what a text has that is made for people: two words of it.
var partOfSentence = regexp.MustCompile(`\pL{2,}[:,;.]? \(?\pL|^, \pL`)

// parsers read sentences of ours, by the packages and names of their functions.
var parsers = []string{"diagnostics.cutCommand"}

// sentencesRead lists where a file takes a sentence apart. What is decided goes on as data, and sentences are made last.
func sentencesRead(h *house, s source) (faults []string) {
	found := func(text string) {
		entry := s.name + ":" + strings.ReplaceAll(text, " ", "_")
		if h.used["sentence "+entry] = true; h.may["sentence"][entry] == "" {
			faults = append(faults, "it reads a sentence: "+entry)
		}
	}
	if h.forTests(s.dir) {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if slices.Contains(parsers, s.dir+"."+n.Name.Name) {
				found(n.Name.Name)
			}
		case *ast.CallExpr:
			name, of := nameOf(n.Fun)
			if of != "strings" || len(n.Args) != 2 || !regexp.MustCompile(`^(Cut|Has|Trim)(Prefix|Suffix)?$`).MatchString(name) {
				break
			}
			if lit, ok := n.Args[1].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && partOfSentence.MatchString(text) {
					found(text)
				}
			}
		}
		return true
	})
	return faults
}

// changesJudged lists where a file that is not in the table decides about a change, or one decides without asking what
// speaks against it.
func changesJudged(h *house, s source) (faults []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall || h.forTests(s.dir) {
			return true
		}
		if name, of := nameOf(call.Fun); name != "Judge" || of != "change" || len(call.Args) != 3 {
			return true
		}
		if h.used["judge "+s.name] = true; h.may["judge"][s.name] == "" {
			faults = append(faults, "it decides about a change: see testdata/house/judge.txt")
		}
		asked := false
		ast.Inspect(call.Args[1], func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				name, _ := nameOf(c.Fun)
				asked = asked || strings.HasPrefix(name, "Reasons")
			}
			return true
		})
		if !asked {
			faults = append(faults, "it decides about a change and does not pass on what Reasons returned")
		}
		return true
	})
	return faults
}

// TestHouse holds every Go file of the checkout to the rules, whatever its build tags.
func TestHouse(t *testing.T) {
	h, seen := newHouse(t), map[string]bool{}
	for _, name := range checkedOut(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		s := parse(t, name, nil)
		seen[s.dir] = true
		for _, rule := range rules {
			for _, fault := range rule(h, s) {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
	for dir, at := range h.places {
		if !at.tests && !seen[dir] {
			t.Errorf("%s has a row for %s, which is no package", architecture, dir)
		}
	}
	for rule, names := range h.may {
		for name := range names {
			if !h.used[rule+" "+name] {
				t.Errorf("testdata/house/%s.txt has %s, which does not need it", rule, name)
			}
		}
	}
}

// TestHouseRules shows that each rule can fail.
func TestHouseRules(t *testing.T) {
	h, tried := newHouse(t), map[string]bool{}
	for line := range strings.Lines(testkit.ReadFile(t, "testdata/house/controls.txt")) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), " |")
		if len(cells) != 4 {
			continue
		}
		rule, name, src, want := cells[0], strings.TrimSpace(cells[1]), cells[2], strings.TrimSpace(cells[3])
		tried[rule] = true
		got := strings.Join(rules[rule](h, parse(t, name, src)), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s%q, want %q", line, got, want)
		}
	}
	if len(tried) != len(rules) {
		t.Errorf("only these rules have controls: %v", tried)
	}
}

// heavy are packages that would cost every start of mcp-jail and of its supervisor.
// mcp-jail-tls and mcp-jail-cli are there for what needs them.
var heavy = []string{
	module + "docs", "net/http", "crypto/tls", "crypto/x509", "debug/elf", "text/template",
	"github.com/spf13/cobra", "github.com/spf13/pflag", module + "cmd/internal/commands",
}

// TestProxyLinksNothingHeavy tests that mcp-jail links no heavy package. The controls are the other programs.
func TestProxyLinksNothingHeavy(t *testing.T) {
	for program, want := range map[string]int{"mcp-jail": 0, "mcp-jail-tls": 3, "mcp-jail-cli": 8} {
		found := slices.DeleteFunc(listed(t, program), func(name string) bool { return !slices.Contains(heavy, name) })
		if len(found) != want {
			t.Errorf("%s has %v", program, found)
		}
	}
}

// listed lists the packages that a program imports on Linux.
func listed(t *testing.T, program string) []string {
	t.Helper()
	if known[program] == nil {
		list := exec.Command("go", "list", "-deps", "./cmd/"+program)
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
		out, err := list.Output()
		testkit.Must(t, err)
		known[program] = strings.Fields(string(out))
	}
	return known[program]
}

var known = map[string][]string{} // what listed has returned

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

// startingCalls are what starts a program, for each package that has it. The constants are those
// of system calls.
var startingCalls = map[string][]string{
	"os/exec":                  {"Command", "CommandContext", "Cmd"},
	"os":                       {"StartProcess"},
	"syscall":                  {"ForkExec", "StartProcess", "Exec", "SYS_EXECVE", "SYS_EXECVEAT"},
	"golang.org/x/sys/windows": {"CreateProcess"},
	"golang.org/x/sys/unix":    {"Exec", "SYS_EXECVE", "SYS_EXECVEAT"},
}

// openingCalls open files by their names, or change what has a name.
var openingCalls = map[string][]string{
	"os": strings.Fields(`Open OpenFile OpenRoot OpenInRoot Create CreateTemp ReadFile ReadDir WriteFile DirFS CopyFS
		Mkdir MkdirAll MkdirTemp Remove RemoveAll Rename Link Symlink Chmod Chown Lchown Chtimes Truncate`),
	"io/ioutil":             {"ReadFile", "ReadDir", "WriteFile", "TempFile", "TempDir"},
	"path/filepath":         {"Glob", "Walk", "WalkDir"},
	"syscall":               openingSystemCalls,
	"golang.org/x/sys/unix": openingSystemCalls,
}

var openingSystemCalls = strings.Fields(`Open Openat Openat2 Creat Mkdir Mkdirat Mknod Mknodat Mkfifo Mkfifoat Rmdir
	Unlink Unlinkat Rename Renameat Renameat2 Link Linkat Symlink Symlinkat Chmod Fchmodat Chown Lchown Fchownat
	Utimes UtimesNano UtimesNanoAt Truncate`)

// callsOf returns what finds the calls, for each package that has them, that a file uses.
func callsOf(calls map[string][]string) func(source) []string {
	return func(s source) (found []string) {
		imported := map[string][]string{}
		for _, spec := range s.file.Imports {
			from, _ := strconv.Unquote(spec.Path.Value)
			as := path.Base(from)
			if spec.Name != nil {
				as = spec.Name.Name
			}
			if imported[as] = calls[from]; as == "." && imported[as] != nil {
				found = append(found, "all of "+from)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok {
				if name, of := nameOf(call); slices.Contains(imported[of], name) {
					found = append(found, of+"."+name)
				}
			}
			return true
		})
		return found
	}
}

// nameOf returns the name of a function, and of the package or value before its dot.
func nameOf(x ast.Node) (function, owner string) {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			owner = id.Name
		}
		return x.Sel.Name, owner
	case *ast.Ident:
		return x.Name, ""
	}
	return "", ""
}

var printing = []string{
	"os.Stdout", "os.Stderr", "os.NewFile", "fmt.Print", "fmt.Printf", "fmt.Println", "syscall.Write", "unix.Write",
	"log.Print", "log.Printf", "log.Println", "log.Fatal", "log.Fatalf",
}

// printsOf returns what in a file of cmd writes to a standard stream by another way than the methods of a console.
func printsOf(s source) (found []string) {
	if !strings.HasPrefix(s.name, "cmd/") || s.dir == "cmd/internal/terminal" {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			name, of := nameOf(n)
			if name == "Raw" || slices.Contains(printing, of+"."+name) {
				found = append(found, of+"."+name)
			}
		case *ast.CallExpr:
			name, of := nameOf(n.Fun)
			if of != "" || len(n.Args) == 0 || name != "print" && name != "println" {
				break
			}
			if text, ok := n.Args[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
				found = append(found, name)
			}
		}
		return true
	})
	return found
}
