package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// refusedExample matches a configuration and what check prints about it.
var refusedExample = regexp.MustCompile("(?s)(<!-- refused: [^\n]* -->\n```toml\n)(.*?)(```\n\n```text\n)(.*?)```\n")

// TestDocumentedRefusals tests that docs/policy.md shows a message of check as the
// program prints them. MCPJAIL_UPDATE=1 writes them there.
func TestDocumentedRefusals(t *testing.T) {
	file, err := filepath.Abs(filepath.Join("..", "..", "..", "docs", "policy.md"))
	testkit.Must(t, err)
	text, err := os.ReadFile(file)
	testkit.Must(t, err)
	shown := string(text)
	if n := len(refusedExample.FindAllString(shown, -1)); n != 1 {
		t.Fatalf("the page has %d examples, want 1", n)
	}
	t.Chdir(t.TempDir())
	said := refusedExample.ReplaceAllStringFunc(shown, func(example string) string {
		m := refusedExample.FindStringSubmatch(example)
		return m[1] + m[2] + m[3] + checkSays(t, m[2]) + "```\n"
	})
	switch {
	case said == shown:
	case os.Getenv("MCPJAIL_UPDATE") != "":
		testkit.Must(t, os.WriteFile(file, []byte(said), 0o644))
	default:
		t.Errorf("the page shows\n%s\nthe program says (MCPJAIL_UPDATE=1 writes it there)\n%s", shown, said)
	}
}

// checkSays returns what check prints to standard error about a configuration that cannot
// be used.
func checkSays(t *testing.T, config string) string {
	t.Helper()
	testkit.Must(t, os.WriteFile("mcp-jail.toml", []byte(config), 0o600))
	out, err := os.Create("said")
	testkit.Must(t, err)
	defer out.Close()
	if status := main([]string{"check", "mcp-jail.toml"}, terminal.New(out, out, out)); status != terminal.Failure {
		t.Errorf("exit status %d", status)
	}
	said, err := os.ReadFile("said")
	testkit.Must(t, err)
	return string(said)
}
