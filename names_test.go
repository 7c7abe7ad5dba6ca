package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// names are what comments may name: for each directory what its package declares, and below "" the methods and
// fields of all types.
type names map[string]map[string]bool

func (n names) add(dir string, file *ast.File) {
	if n[dir] == nil {
		n[dir] = map[string]bool{}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch d := node.(type) {
		case *ast.FuncDecl:
			of := dir
			if d.Recv != nil {
				of = ""
			}
			n[of][d.Name.Name] = true
		case *ast.TypeSpec:
			n[dir][d.Name.Name] = true
		case *ast.ValueSpec:
			for _, id := range d.Names {
				n[dir][id.Name] = true
			}
		case *ast.Field:
			for _, id := range d.Names {
				n[""][id.Name] = true
			}
		}
		return true
	})
}

// declares reports whether a package declares a name, which may be that of a type with one of its members.
func (n names) declares(dir, name string) bool {
	of, member, isMember := strings.Cut(name, ".")
	return n[dir][of] && (!isMember || n[""][member])
}

var (
	goFile    = regexp.MustCompile(`[\w./*-]*\w\.go\b`)
	pathOf    = regexp.MustCompile(`(?:^|[^\w/.~<>*-])((?:bench|clients|cmd|confine|conformance|diagnostics|docs|examples|internal|lifecycle|mcpproxy|packages|packaging|policy|presets|testdata|undo)/[\w./*-]*\w)`)
	docLink   = regexp.MustCompile(`(?:^|[^\w\])"'\x60])\[\*?(?:([\w/]+)\.)?([A-Z]\w*(?:\.[A-Z]\w*)?)\](?:$|[^\w\[({:])`)
	qualified = regexp.MustCompile(`(?:^|[^\w/.[-])([a-z][a-z0-9]*)\.([A-Z]\w*(?:\.[A-Z]\w*)?)`)
	exported  = regexp.MustCompile("`([A-Z][a-z]\\w*(?:\\.\\w+)?)`")
)

// faults lists what a text of a directory names, and what is not there. imports are those of its file.
func (n names) faults(dir, text string, imports map[string]string) (faults []string) {
	check := func(is bool, name string) {
		if !is {
			faults = append(faults, "there is no "+name)
		}
	}
	exists := func(name string) bool {
		atRoot, _ := filepath.Glob(name)
		here, _ := filepath.Glob(path.Join(dir, name))
		return len(atRoot)+len(here) > 0
	}
	// inPackage looks in each package of a name. One of another project has all names.
	inPackage := func(pkg, name string) bool {
		full, imported := imports[pkg]
		known := false
		for at := range n {
			if pkg == "" && at == dir || full == module+at || !imported && path.Base(at) == pkg {
				if known = true; n.declares(at, name) {
					return true
				}
			}
		}
		return !known
	}
	text = strings.ReplaceAll(text, module, "")
	for _, name := range goFile.FindAllString(text, -1) {
		first, _, more := strings.Cut(name, "/")
		check(exists(name) || more && strings.Contains(first, "."), name) // a file of another project has its host
	}
	for _, m := range pathOf.FindAllStringSubmatch(text, -1) {
		ext := path.Ext(m[1])
		check(exists(m[1]) || ext == ".go" || ext != "" && n[strings.TrimSuffix(m[1], ext)][ext[1:]], m[1])
	}
	for _, m := range docLink.FindAllStringSubmatch(text, -1) {
		check(inPackage(m[1][strings.LastIndex(m[1], "/")+1:], m[2]), "["+strings.TrimPrefix(m[1]+"."+m[2], ".")+"]")
	}
	for _, m := range qualified.FindAllStringSubmatch(text, -1) {
		check(inPackage(m[1], m[2]), m[1]+"."+m[2])
	}
	return faults
}

// TestNames tests that what comments of the sources and the pages for maintainers name exists: files, packages, and what
// packages declare. Each package has one package comment.
func TestNames(t *testing.T) {
	all, files, manuals := names{"": {}}, map[string]*ast.File{}, map[string]int{}
	for _, name := range checkedOut(t) {
		if strings.HasSuffix(name, ".go") {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution|parser.ParseComments)
			testkit.Must(t, err)
			files[name] = file
			all.add(path.Dir(name), file)
			if manuals[path.Dir(name)] += 0; file.Doc != nil {
				manuals[path.Dir(name)]++
			}
		}
	}
	for dir, n := range manuals {
		if n != 1 {
			t.Errorf("%s has %d package comments: write one", dir, n)
		}
	}
	for name, file := range files {
		imports := map[string]string{}
		for _, spec := range file.Imports {
			from, _ := strconv.Unquote(spec.Path.Value)
			as := path.Base(from)
			if spec.Name != nil {
				as = spec.Name.Name
			}
			imports[as] = from
		}
		for _, c := range file.Comments {
			for _, fault := range all.faults(path.Dir(name), c.Text(), imports) {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
	page := testkit.ReadFile(t, architecture)
	for _, name := range []string{architecture, "SECURITY.md", "CONTRIBUTING.md"} {
		for _, fault := range all.faults(".", testkit.ReadFile(t, name), nil) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	for _, m := range exported.FindAllStringSubmatch(page, -1) {
		known := false
		for dir := range all {
			known = known || all.declares(dir, m[1])
		}
		if !known {
			t.Errorf("%s: there is no %s", architecture, m[1])
		}
	}
	for text, faults := range map[string]int{
		"no_such.go": 1, "rename_linux.go": 1, "house_test.go, environment_*.go, cmd/mcp-jail/run.go, example.org/x/y.go": 0,
		"policy/nosuch": 1, "policy/config.NoSuch": 1, "policy/resolve, " + module + "policy.Profile": 0,
		"[NoSuch]": 1, "[policy.NoSuch]": 1, "[policy.Profile.NoSuch]": 1, "[policy.Profile.Mediate], [os.File], list[Index]": 0,
		"policy.NoSuch": 1, "policy.Profile.NoSuch": 1, "policy.Profile, exec.Cmd": 0,
	} {
		if got := all.faults(".", text, nil); len(got) != faults {
			t.Errorf("control: %q has %q", text, got)
		}
	}
}
