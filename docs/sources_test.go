package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/docs"
	"github.com/mcp-jail/mcp-jail/policy"
)

var root = ".."

// sources calls visit for each file of the product below dir that is no test.
func sources(t *testing.T, dir string, visit func(name string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"node_modules", ".git", "testdata"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(name, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// constants returns the constants of a type, or those whose names begin with a prefix, with
// their values.
func constants(t *testing.T, dir, typeName, prefix string) map[string]string {
	t.Helper()
	found := map[string]string{}
	sources(t, dir, func(_ string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, _ := spec.Type.(*ast.Ident)
			name := spec.Names[0].Name
			if typeName != "" && (kind == nil || kind.Name != typeName) || typeName == "" && (kind != nil || !strings.HasPrefix(name, prefix)) {
				return true
			}
			switch v := spec.Values[0].(type) {
			case *ast.BasicLit:
				found[name] = strings.Trim(v.Value, `"`)
			case *ast.UnaryExpr:
				found[name] = v.Op.String() + v.X.(*ast.BasicLit).Value
			}
			return true
		})
	})
	return found
}

// TestPagesOfSource tests that the pages are those that package diagnostics and its table of programs
// name, and that the source uses each name.
func TestPagesOfSource(t *testing.T) {
	inSource := constants(t, "diagnostics", "Page", "")
	uses := map[string]int{}
	for _, dir := range []string{"diagnostics", "lifecycle", "cmd"} {
		sources(t, dir, func(_ string, file *ast.File) {
			ast.Inspect(file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					uses[id.Name]++
				}
				_, declares := n.(*ast.ValueSpec)
				return !declares // neither the constant nor its alias is a use
			})
		})
	}
	rows, err := os.ReadFile(filepath.Join(root, "diagnostics", "internal", "analysis", "programs.toml"))
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, row := range regexp.MustCompile(`(?m)^page = "(.*)"$`).FindAllStringSubmatch(string(rows), -1) {
		pages = append(pages, row[1])
	}
	for name, page := range inSource {
		if uses[name] == 0 && !slices.Contains(pages, page) {
			t.Errorf("nothing names the page %s", page)
		}
		pages = append(pages, page)
	}
	slices.Sort(pages)
	pages = slices.Compact(pages)
	if !slices.Equal(pages, names()) {
		t.Errorf("the source has\n%q\nand the pages are\n%q", pages, names())
	}
}

// TestCodes tests that each code, reason, limit and axis has a page.
func TestCodes(t *testing.T) {
	codes, reasons, limits := constants(t, "diagnostics", "Code", ""), constants(t, "policy", "DenialReason", ""), constants(t, "diagnostics", "", "Key")
	for name, value := range codes {
		if n, err := strconv.Atoi(value); err != nil || diagnostics.PageOfCode(diagnostics.Code(n)) == "" {
			t.Errorf("%s = %s has no page (%v)", name, value, err)
		}
	}
	for name, value := range reasons {
		byAxis := value == string(policy.DeniedNotGranted) || value == string(policy.DeniedAbsent) || value == string(policy.DeniedOwnHome)
		if page := diagnostics.PageOfReason(policy.DenialReason(value)); page == "" != byAxis || !policy.DenialReason(value).IsValid() {
			t.Errorf("%s = %q has the page %q", name, value, page)
		}
	}
	for name, value := range limits {
		if diagnostics.PageOfLimit(value) == "" {
			t.Errorf("%s = %q has no page", name, value)
		}
	}
	if len(codes) < 8 || len(reasons) < 12 || len(limits) < 5 {
		t.Errorf("%d codes, %d reasons, %d limits", len(codes), len(reasons), len(limits))
	}
	gaps := sections(t)["gap"]
	for _, axis := range policy.Axes() {
		target := map[policy.Axis]string{policy.AxisFs: "/x/y", policy.AxisNet: "api.example.com:443", policy.AxisIPC: "/x/sock", policy.AxisProcess: "date", policy.AxisEnv: "X_TOKEN", policy.AxisLimits: "processes = 40"}[axis]
		for _, operation := range []string{"read", "write", "exec", "connect"} {
			d := diagnose.Failure(diagnostics.Evidence{
				Stage: diagnostics.StageCall, Server: "s", Tool: "t", Text: "it failed", Profile: &policy.Profile{Limits: policy.Limits{Processes: 40}},
				Denials: []policy.Denial{{Axis: axis, Operation: operation, Target: target, Count: 1}},
			})
			if _, ok := docs.Find(string(d.Explain)); !ok || len(d.Hints) != 1 || d.Hints[0].Explain != d.Explain {
				t.Errorf("%s %s: %+v", axis, operation, d)
			}
		}
		if !strings.Contains(gaps, "`"+string(axis)+"`") {
			t.Errorf("the page about gaps does not name the axis %s", axis)
		}
	}
}

// TestGapsHaveAxes tests that each gap has an axis. The page about gaps describes gaps by their
// axes.
func TestGapsHaveAxes(t *testing.T) {
	axes := constants(t, "policy", "Axis", "")
	found := 0
	literals(t, "confine", "Gap", func(name string, fields map[string]ast.Expr) {
		found++
		switch axis := fields["Axis"].(type) {
		case *ast.SelectorExpr:
			if axes[axis.Sel.Name] == "" && axis.Sel.Name != "Axis" { // that of a failed probe
				t.Errorf("%s: a gap on %s", name, axis.Sel.Name)
			}
		case *ast.Ident: // a loop over all axes
		default:
			t.Errorf("%s: a gap without an axis", name)
		}
	})
	if found < 25 {
		t.Errorf("%d gaps", found)
	}
}

// TestDiagnosesNamePages tests that each diagnosis that package lifecycle makes itself names
// a page.
func TestDiagnosesNamePages(t *testing.T) {
	found := 0
	literals(t, "lifecycle", "Diagnosis", func(name string, fields map[string]ast.Expr) {
		found++
		if fields["Explain"] == nil {
			t.Errorf("%s: a diagnosis without a page", name)
		}
	})
	if found < 6 { // session.Refusal, which most of them come from, is one
		t.Errorf("%d diagnoses", found)
	}
}

// literals calls visit for each composite literal of a type that has fields.
func literals(t *testing.T, dir, typeName string, visit func(name string, fields map[string]ast.Expr)) {
	t.Helper()
	sources(t, dir, func(name string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) == 0 {
				return true
			}
			kind, _ := lit.Type.(*ast.Ident)
			if sel, ok := lit.Type.(*ast.SelectorExpr); ok {
				kind = sel.Sel
			}
			if kind == nil && typeName == "Gap" && len(lit.Elts) > 0 && lit.Type == nil {
				return addUntyped(name, lit, visit)
			}
			if kind != nil && kind.Name == typeName {
				visit(name, keyed(lit))
			}
			return true
		})
	})
}

// addUntyped visits an element of a list of gaps, which has no type of its own.
func addUntyped(name string, lit *ast.CompositeLit, visit func(string, map[string]ast.Expr)) bool {
	if fields := keyed(lit); fields["Axis"] != nil && fields["What"] != nil && fields["Why"] != nil {
		visit(name, fields)
	}
	return true
}

// keyed returns the fields of a literal by their names.
func keyed(lit *ast.CompositeLit) map[string]ast.Expr {
	fields := map[string]ast.Expr{}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				fields[key.Name] = kv.Value
			}
		}
	}
	return fields
}
