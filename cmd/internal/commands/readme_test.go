package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
)

// honestyExample matches a configuration and what check prints about it.
var honestyExample = regexp.MustCompile("(?s)```toml\n(.*?)```\n```\n(.*?)```\n")

// TestReadmeHonesty tests that the README shows two messages of check as the program
// prints them.
func TestReadmeHonesty(t *testing.T) {
	file, err := filepath.Abs(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "<!-- honesty -->\n")
	shown, after, ok := strings.Cut(rest, "<!-- /honesty -->\n")
	if n := len(honestyExample.FindAllString(shown, -1)); !ok || n != 2 {
		t.Fatalf("the README has %d examples, want 2", n)
	}
	t.Chdir(t.TempDir())
	said := honestyExample.ReplaceAllStringFunc(shown, func(example string) string {
		config := honestyExample.FindStringSubmatch(example)[1]
		return "```toml\n" + config + "```\n```\n" + checkSays(t, config) + "```\n"
	})
	switch {
	case said == shown:
	case os.Getenv("MCPJAIL_UPDATE") != "":
		if err := os.WriteFile(file, []byte(before+"<!-- honesty -->\n"+said+"<!-- /honesty -->\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the README shows\n%s\nthe program says (MCPJAIL_UPDATE=1 writes it there)\n%s", shown, said)
	}
}

// checkSays returns what check prints to standard error about a configuration that cannot
// be used.
func checkSays(t *testing.T, config string) string {
	t.Helper()
	if err := os.WriteFile("mcp-jail.toml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create("said")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if status := Main([]string{"check", "mcp-jail.toml"}, terminal.Console{In: out, Out: out, Err: out}); status != target.ExitUsage {
		t.Errorf("exit status %d", status)
	}
	said, err := os.ReadFile("said")
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}
