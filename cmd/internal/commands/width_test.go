package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
)

const widthConfig = `[servers.notes]
command = "/bin/true"
arguments = ["--with", "an argument that is long", "--and", "another argument that is long", "--and", "one more"]
[[servers.notes.access.fs]]
path = "~/some notes"
read = true
[[servers.notes.access.net]]
host = "api.example.com"
path_prefix = "/v1/some/path/of/an/api/that/is/long"
methods = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"]
`

// TestWidth: what the commands print for people has lines of at most terminal.TextWidth
// characters, but for words that are longer.
func TestWidth(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Chdir(home)
	config := filepath.Join(home, ".config", "mcp-jail", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(widthConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := [][]string{{}, {"plan", "notes"}, {"plan", "--verbose", "notes"}, {"plan", "--", "/bin/true"}, {"check"}, {"doctor"}, {"doctor", "--verbose"}, {"list"}, {"preset"}}
	for _, name := range cmdline.Commands() {
		lines = append(lines, []string{name, "--help"})
	}
	for _, args := range lines {
		text := printed(t, args)
		if text == "" {
			t.Errorf("%q prints nothing", args)
		}
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > terminal.TextWidth && len(words) > 1 {
				t.Errorf("%q prints %d characters: %s", args, n, line)
			}
		}
	}
	if text := printed(t, []string{"plan", "notes"}); !strings.Contains(text, "~/some notes does not exist") && !strings.Contains(text, " ~/") || strings.Contains(text, "TERM=") {
		t.Errorf("the short plan:\n%s", text)
	}
	if text := printed(t, []string{"plan", "--verbose", "notes"}); !strings.Contains(text, "PATH=") {
		t.Errorf("the whole plan:\n%s", text)
	}
}

// printed returns what a command prints to standard output.
func printed(t *testing.T, args []string) string {
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	Main(args, terminal.Console{In: os.Stdin, Out: out, Err: os.Stderr})
	b, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestShortHome(t *testing.T) {
	for text, want := range map[string]string{
		"read /home/u/a":            "read ~/a",
		`path = "/home/u/a"`:        `path = "~/a"`,
		"/home/u/a:4: x":            "~/a:4: x",
		"HOME=/home/u/a":            "HOME=/home/u/a",
		"/srv/home/u/a /home/u2/b":  "/srv/home/u/a /home/u2/b",
		"/home/u is the home":       "/home/u is the home",
		"/home/u/a\n/home/u/b: two": "~/a\n~/b: two",
	} {
		if got := shortHome(text, "/home/u"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
