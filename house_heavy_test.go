package house_test

import (
	"go/ast"
	"go/token"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// heavy are packages that would cost every start of mcp-jail and of its supervisor.
// mcp-jail-tls and mcp-jail-cli are there for what needs them.
var heavy = []string{module + "docs/explain", "net/http", "crypto/tls", "crypto/x509", "debug/elf", "text/template", "github.com/spf13/cobra", "github.com/spf13/pflag", module + "cmd/internal/commands"}

// TestProxyLinksNothingHeavy tests that mcp-jail links no heavy package.
func TestProxyLinksNothingHeavy(t *testing.T) {
	linked := func(program string) (found []string) {
		out, err := exec.Command("go", "list", "-deps", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Fields(string(out)) {
			if slices.Contains(heavy, name) {
				found = append(found, name)
			}
		}
		return found
	}
	if got := linked("./cmd/mcp-jail"); got != nil {
		t.Errorf("mcp-jail has %v", got)
	}
	if got := linked("./cmd/mcp-jail-tls"); len(got) != 3 {
		t.Errorf("control: mcp-jail-tls has only %v", got)
	}
	if got := linked("./cmd/mcp-jail-cli"); !slices.Contains(got, "github.com/spf13/cobra") {
		t.Errorf("control: mcp-jail-cli has %v", got)
	}
}

// compilesAtStart reports whether a variable of a package is a compiled regular expression. That took up to 0.6
// ms of each start of mcp-jail and of each supervisor.
func compilesAtStart(file *ast.File) (found bool) {
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			ast.Inspect(d, func(n ast.Node) bool {
				_, function := n.(*ast.FuncLit)
				s, selects := n.(*ast.SelectorExpr)
				found = found || selects && s.Sel.Name == "MustCompile"
				return !function
			})
		}
	}
	return found
}
