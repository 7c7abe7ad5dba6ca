package commands

import (
	"os"
	"path/filepath"
	"testing"

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

func printedTo(t *testing.T, args []string, errs bool) string {
	out, err := os.CreateTemp(t.TempDir(), "out")
	testkit.Must(t, err)
	defer out.Close()
	c := terminal.New(os.Stdin, out, os.Stderr)
	if errs {
		c = terminal.New(os.Stdin, os.Stdout, out)
	}
	main(args, c)
	b, err := os.ReadFile(out.Name())
	testkit.Must(t, err)
	return string(b)
}
