package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const widthConfig = `[servers.notes]
command = "/bin/true"
arguments = ["--with", "an argument that is long", "--and", "another argument that is long", "--and", "one more"]
[[servers.notes.access.fs]]
path = "~/some notes"
read = true
[[servers.notes.access.net]]
host = "api.example.com"
allow = false
path_prefix = "/v1/some/path/of/an/api/that/is/long"
methods = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"]
`

// command matches a command to copy, which no line breaks.
var command = regexp.MustCompile("`[^`]+`[,;.]?")

// TestWidth: what the commands print for people has lines of at most terminal.TextWidth
// characters, but for words and commands that are longer.
func TestWidth(t *testing.T) {
	home := widthHome(t)
	lines := [][]string{{}, {"plan", "notes"}, {"plan", "--verbose", "notes"}, {"plan", "--", "/bin/true"}, {"check"}, {"doctor"}, {"doctor", "--verbose"}, {"preset"}}
	for _, name := range cmdline.Commands() {
		lines = append(lines, []string{name, "--help"})
	}
	for _, args := range lines {
		text := printed(t, args)
		if text == "" {
			t.Errorf("%q prints nothing", args)
		}
		for line := range strings.Lines(text) {
			rest := command.ReplaceAllString(strings.TrimRight(line, "\n"), "")
			if n := utf8.RuneCountInString(rest); n > terminal.TextWidth && len(strings.Fields(rest)) > 1 {
				t.Errorf("%q prints %d characters: %s", args, n, line)
			}
		}
	}
	for _, args := range [][]string{{"plan", "no-such-server"}, {"plan", "--waive", "everything", "notes"}} {
		text := printedErrors(t, args)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > terminal.TextWidth && len(strings.Fields(line)) > 1 || strings.Contains(line, home+"/") {
				t.Errorf("%q prints %d characters: %s", args, n, line)
			}
		}
		if !strings.Contains(text, "error: ") {
			t.Errorf("%q prints no error: %s", args, text)
		}
	}
	if text := printed(t, []string{"plan", "notes"}); !strings.Contains(text, "~/some notes does not exist") && !strings.Contains(text, " ~/") || strings.Contains(text, "TERM=") {
		t.Errorf("the short plan:\n%s", text)
	}
	if text := printed(t, []string{"plan", "--verbose", "notes"}); !strings.Contains(text, "PATH=") {
		t.Errorf("the whole plan:\n%s", text)
	}
}

// widthHome makes a HOME with a configuration and goes there.
func widthHome(t *testing.T) string {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("COLUMNS", "")
	t.Chdir(home)
	config := filepath.Join(home, ".config", "mcp-jail", "config.toml")
	testkit.Must(t, os.MkdirAll(filepath.Dir(config), 0o700))
	testkit.Must(t, os.WriteFile(config, []byte(widthConfig), 0o600))
	return home
}

// printed returns what a command prints to standard output.
func printed(t *testing.T, args []string) string { return printedTo(t, args, false) }

// printedErrors returns what a command prints to standard error.
func printedErrors(t *testing.T, args []string) string { return printedTo(t, args, true) }

func printedTo(t *testing.T, args []string, errs bool) string {
	out, err := os.CreateTemp(t.TempDir(), "out")
	testkit.Must(t, err)
	defer out.Close()
	c := terminal.New(os.Stdin, out, os.Stderr)
	if errs {
		c = terminal.New(os.Stdin, os.Stdout, out)
	}
	Main(args, c)
	b, err := os.ReadFile(out.Name())
	testkit.Must(t, err)
	return string(b)
}
