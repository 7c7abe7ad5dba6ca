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

// names are what comments may name: what the package of each directory declares, T.Member of its types,
// and .Member, which a comment may find in a type under another name.
type names map[string]map[string]bool

// add adds what a file declares.
func (n names) add(dir string, file *ast.File) {
	if n[dir] == nil {
		n[dir] = map[string]bool{}
	}
	of := ""
	member := func(id *ast.Ident) { n[dir][of+"."+id.Name], n[dir]["."+id.Name] = true, true }
	ast.Inspect(file, func(node ast.Node) bool {
		switch d := node.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				n[dir][d.Name.Name] = true
				break
			}
			ast.Inspect(d.Recv.List[0].Type, func(x ast.Node) bool {
				id, isName := x.(*ast.Ident)
				if isName {
					of = id.Name
				}
				return !isName
			})
			member(d.Name)
		case *ast.TypeSpec:
			of = d.Name.Name
			n[dir][of] = true
		case *ast.ValueSpec:
			for _, id := range d.Names {
				n[dir][id.Name] = true
			}
		case *ast.Field:
			for _, id := range d.Names {
				member(id)
			}
		}
		return true
	})
}

// declares reports whether a package declares a name. T.Member counts if T is there and a type of ours has that member.
func (n names) declares(dir, name string) bool {
	of, member, isMember := strings.Cut(name, ".")
	if n[dir][name] || !isMember || !n[dir][of] {
		return n[dir][name]
	}
	for _, names := range n {
		if names["."+member] {
			return true
		}
	}
	return false
}

var (
	goFile    = regexp.MustCompile(`[\w./*-]*\w\.go\b`)
	pathOf    = regexp.MustCompile(`(?:^|[^\w/.~<>*-])((?:bench|clients|cmd|confine|conformance|diagnostics|docs|examples|internal|lifecycle|mcpproxy|packages|packaging|policy|presets|testdata|undo)/[\w./*-]*\w)`)
	docLink   = regexp.MustCompile(`(?:^|[^\w\])"'\x60])\[\*?(?:([\w/]+)\.)?([A-Z]\w*(?:\.[A-Z]\w*)?)\](?:$|[^\w\[({:])`)
	qualified = regexp.MustCompile(`(?:^|[^\w/.[-])([a-z][a-z0-9]*)\.([A-Z]\w*(?:\.[A-Z]\w*)?)`)
	member    = regexp.MustCompile(`(?:^|[^\w/.-])([A-Z]\w*)\.([A-Za-z]\w*)`)
)

// faults lists what a text of a directory names, and what is not there. imports are those of its file.
func (n names) faults(dir, text string, imports map[string]string) (faults []string) {
	text = strings.ReplaceAll(text, module, "")
	exists := func(name string) bool {
		atRoot, _ := filepath.Glob(name)
		here, _ := filepath.Glob(path.Join(dir, name))
		return len(atRoot)+len(here) > 0
	}
	// declares reports whether a package has a name. It is true for a package that is not ours.
	declares := func(pkg, name string) bool {
		known := false
		for at := range n {
			full, imported := imports[pkg]
			if pkg == "" && at == dir || full == module+at || !imported && path.Base(at) == pkg {
				if known = true; n.declares(at, name) {
					return true
				}
			}
		}
		return !known
	}
	for _, name := range goFile.FindAllString(text, -1) {
		host, _, _ := strings.Cut(name, "/") // that of a file of another project
		if !exists(name) && (host == name || !strings.Contains(host, ".")) {
			faults = append(faults, "there is no file "+name)
		}
	}
	for _, m := range pathOf.FindAllStringSubmatch(text, -1) {
		at, name := strings.TrimSuffix(m[1], path.Ext(m[1])), strings.TrimPrefix(path.Ext(m[1]), ".")
		if !exists(m[1]) && !n[at][name] && path.Ext(m[1]) != ".go" {
			faults = append(faults, "there is no "+m[1])
		}
	}
	for _, m := range docLink.FindAllStringSubmatch(text, -1) {
		if pkg := m[1][strings.LastIndex(m[1], "/")+1:]; !declares(pkg, m[2]) {
			faults = append(faults, "there is no ["+pkg+"."+m[2]+"]")
		}
	}
	for _, m := range qualified.FindAllStringSubmatch(text, -1) {
		if !declares(m[1], m[2]) {
			faults = append(faults, "there is no "+m[1]+"."+m[2])
		}
	}
	for _, m := range member.FindAllStringSubmatch(text, -1) {
		if n[dir][m[1]] && !n.declares(dir, m[1]+"."+m[2]) {
			faults = append(faults, "there is no "+m[1]+"."+m[2])
		}
	}
	return faults
}

// TestNames tests that what comments of the sources name exists: files, packages, and what packages
// declare. In docs/architecture.md the same holds, and for each exported name in code.
func TestNames(t *testing.T) {
	all, files := names{}, map[string]*ast.File{}
	for _, name := range checkedOut(t) {
		if strings.HasSuffix(name, ".go") {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution|parser.ParseComments)
			testkit.Must(t, err)
			files[name] = file
			all.add(path.Dir(name), file)
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
	for _, fault := range all.faults(".", page, nil) {
		t.Errorf("%s: %s", architecture, fault)
	}
	for _, m := range regexp.MustCompile("`([A-Z][a-z]\\w*(?:\\.\\w+)?)`").FindAllStringSubmatch(page, -1) {
		known := false
		for _, names := range all {
			known = known || names[m[1]] || names["."+m[1]]
		}
		if !known {
			t.Errorf("%s: there is no %s", architecture, m[1])
		}
	}
	for text, want := range map[string]int{
		"see no_such.go": 1, "see rename_linux.go": 1, "see house_test.go, environment_*.go and example.org/x/y.go": 0,
		"in policy/nosuch": 1, "in policy/resolve, module/policy.Profile and cmd/mcp-jail/run.go": 0, "policy/config.NoSuch": 1,
		"a [NoSuch]": 1, "a [policy.NoSuch]": 1, "a [policy.Profile], an [os.File], [place]": 0,
		"policy.NoSuch": 1, "policy.Profile.NoSuch": 1, "policy.Profile, exec.Cmd": 0,
		"house.nothing": 0, "Thing.nothing": 1, "Thing.field": 0,
	} {
		here := names{"policy": all["policy"], ".": {"Thing": true, "Thing.field": true}}
		if got := here.faults(".", strings.ReplaceAll(text, "module/", module), nil); len(got) != want {
			t.Errorf("control: %q has %q", text, got)
		}
	}
}
