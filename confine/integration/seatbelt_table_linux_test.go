//go:build seatbelt

package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shows is what the code of a test has if it can have a reason, with all that it uses of this package.
var shows = map[string]*regexp.Regexp{
	refusals:     regexp.MustCompile(`"[^"]*\bE[A-Z]{3,}\b|unix\.E[A-Z]{3,}\b|attacker\.Holds|jailtest\.Unconfined|"SECRET"|masked|killed|unmediated|newCommands|slow-init`),
	records:      regexp.MustCompile(`\bDenials\(`),
	mechanisms:   regexp.MustCompile(`\b(features|cgroup|seccomp|landlock|mediate|mountinfo)\b|\bLandlock|SYS_LANDLOCK|TestHooks|CLONE_NEW|"unshare"|FDSize|swap|"unanswered"|"(own|write)-terminal"|spec\.SupervisorThreads|secure-bits|"fork-busy"`),
	connects:     regexp.MustCompile(`NetworkEnv|networkName|networkEnv|needsTestNetwork`),
	asked:        regexp.MustCompile(`\bCertainReads\b|\bAskHost\b`),
	inboundPorts: regexp.MustCompile(`\bInbound\b`),
	sampled:      regexp.MustCompile(`"(fork|fork-all|timers|inotify|terminals)"`),
	asRoot:       regexp.MustCompile(`os\.Getuid\(\) != 0`),

	hostNamespaces: regexp.MustCompile(`NeedsHostNS\(`),
}

// TestSeatbeltTable: each test is in exactly one table. What the code of a test does fits the
// reason why it is left out.
func TestSeatbeltTable(t *testing.T) {
	source := readTests(t)
	reasons := map[string][]string{}
	for _, table := range []map[string]string{underSeatbelt, inWorldSeatbelt} {
		for name := range table {
			reasons[name] = append(reasons[name], "")
		}
	}
	for reason, names := range notUnderSeatbelt {
		for _, name := range names {
			reasons[name] = append(reasons[name], reason)
		}
	}
	for name := range source {
		if strings.HasPrefix(name, "TestHostNS") {
			reasons[name] = append(reasons[name], hostNamespaces)
		}
		if testName.MatchString(name) && len(reasons[name]) == 0 {
			t.Errorf("%s is in no table: does it run with the tag seatbelt, where nothing confines what it starts?", name)
		}
	}
	for name, of := range reasons {
		switch text := used(source, name, map[string]bool{}); {
		case len(of) > 1:
			t.Errorf("%s is in the tables %d times", name, len(of))
		case text == "" || !testName.MatchString(name):
			t.Errorf("no test is called %s", name)
		case of[0] != "" && !shows[of[0]].MatchString(text):
			t.Errorf("%s is left out as %q, and nothing in its code shows that", name, of[0])
		}
	}
}

var testName = regexp.MustCompile(`^Test([^a-z]|$)`)

// declaration is the source of what a test package declares, with the names that it has of other such.
type declaration struct {
	text string
	uses []string
}

func readTests(t *testing.T) map[string]*declaration {
	t.Helper()
	files, _ := filepath.Glob("*_test.go")
	all := map[string]*declaration{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		add := func(name string, n ast.Node) {
			d := all[name]
			if d == nil {
				d = &declaration{}
				all[name] = d
			}
			d.text += string(text[n.Pos()-parsed.FileStart:n.End()-parsed.FileStart]) + "\n"
			d.uses = append(d.uses, namesIn(n)...)
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name != "TestMain" {
					add(d.Name.Name, d)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, is := s.(*ast.ValueSpec); is {
						for _, name := range v.Names {
							add(name.Name, s)
						}
					}
				}
			}
		}
	}
	return all
}

// namesIn returns the names in the source below a node, without those of other packages and of fields.
func namesIn(n ast.Node) (names []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			names = append(names, namesIn(n.X)...)
			return false
		case *ast.Ident:
			names = append(names, n.Name)
		}
		return true
	})
	return names
}

// used returns the source of a declaration and of all that it uses. seen are those that it has already.
func used(all map[string]*declaration, name string, seen map[string]bool) string {
	d := all[name]
	if d == nil || seen[name] {
		return ""
	}
	seen[name] = true
	text := d.text
	for _, other := range d.uses {
		text += used(all, other, seen)
	}
	return text
}
