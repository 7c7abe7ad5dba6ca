package commands

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// said returns what a command line prints.
func said(t *testing.T, args ...string) (stdout string, status int) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	testkit.Must(t, err)
	defer out.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	testkit.Must(t, err)
	defer null.Close()
	status = main(args, terminal.New(null, out, null))
	b, err := os.ReadFile(out.Name())
	testkit.Must(t, err)
	return string(b), status
}

// TestComplete tests which words a shell is told for a command line.
func TestComplete(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("A_TOKEN", "secret")
	t.Chdir(home)
	testkit.WriteFile(t, "c.toml", "version = 1\n[servers.github]\ncommand = \"gh-server\"\n[servers.notes]\ncommand = \"notes\"\nstateful = false\n[[servers.notes.tools.search.access.fs]]\npath = \".\"\nread = true\n")
	testkit.WriteFile(t, ".mcp.json", `{"mcpServers": {"search": {"command": "mcp-jail", "args": ["run", "--name", "s", "--", "search-server"]}}}`)
	testkit.Must(t, os.Mkdir(".cursor", 0o755))
	testkit.WriteFile(t, ".cursor/mcp.json", `{"mcpServers": {"issues": {"command": "issues-server"}}}`)
	testkit.WriteFile(t, ".claude.json", `{"mcpServers": {"tickets": {"command": "mcp-jail", "args": ["run", "--name", "t", "--", "tickets-server"]}, "bare": {"command": "bare-server"},
		"--yes": {"command": "mcp-jail", "args": ["run", "--", "x"]}, "_activeHelp_ x": {"command": "mcp-jail", "args": ["run", "--", "y"]}}}`)
	testkit.PlantBelow(t, filepath.Join(home, ".local/state/mcp-jail/servers"), "used/last.json")
	for _, c := range testkit.Table[struct {
		typed      string // the last word is being typed
		want, none string // lines of the answer, separated by spaces, and one that may not be there
	}](t, "completions.txt") {
		words := strings.Split(c.typed, " ")
		out, status := said(t, append([]string{"__complete"}, words...)...)
		var got []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, word)
		}
		answer := " " + strings.Join(got, " ") + " "
		for _, word := range strings.Fields(c.want) {
			if !strings.Contains(answer, " "+word+" ") && !strings.Contains(answer, " "+strings.TrimPrefix(word, "--waive=")+" ") {
				t.Errorf("%q: %s is not proposed: %s", c.typed, word, answer)
			}
		}
		if c.none != "" && strings.Contains(answer, " "+c.none+" ") || status != terminal.OK {
			t.Errorf("%q: status %d, %s", c.typed, status, answer)
		}
	}
}

// TestCompletionScripts tests that each shell accepts its script, which asks mcp-jail.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, status := said(t, "completion", shell)
		if status != terminal.OK || !strings.Contains(script, "__complete") || !strings.Contains(script, "mcp-jail") || strings.Contains(script, "mcp-jail-cli") {
			t.Errorf("%s: status %d, %s", shell, status, script)
		}
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		cmd := exec.Command(shell, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}

// TestFlagsComplete tests that a shell proposes files for a flag only if its value is a file.
func TestFlagsComplete(t *testing.T) {
	line := &cli.CommandLine{}
	for _, cmd := range commandTree(line).Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, proposes := cmd.GetFlagCompletionFunc(f.Name)
			file := slices.Contains([]string{"FILE", "PATH"}, f.Value.Type())
			if f.NoOptDefVal == "" && !f.Hidden && proposes == file {
				t.Errorf("%s --%s=%s: proposes words: %v", cmd.Name(), f.Name, f.Value.Type(), proposes)
			}
		})
	}
}

// TestEveryCompletion tests that a shell gets only candidates from each function for completion.
// Names that a repository, a client's file or the environment chooses are hostile here.
func TestEveryCompletion(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("A\x1b]0;PWN\x07", "x")
	t.Setenv("_activeHelp_ A", "x")
	t.Chdir(home)
	hostile := []string{`_activeHelp_ \u001b]0;PWN\u0007`, `--write`, `a\tb`, `a\u202e`, `$(id)`, "a`b`", `mcp-jail: x`}
	config, file := "version = 1\n", ""
	for _, name := range append(hostile, "good") {
		config += "[servers.\"" + name + "\"]\ncommand = \"/bin/true\"\nstateful = false\n[servers.good.tools.\"" + name + "\".access]\n"
		file += `, "` + name + `": {"command": "mcp-jail", "args": ["run", "--", "x"]}`
	}
	config = strings.ReplaceAll(config, "[servers.\"good\"]\ncommand = \"/bin/true\"\nstateful = false\n", "") + "[servers.good]\ncommand = \"/bin/true\"\nstateful = false\n"
	testkit.Must(t, os.MkdirAll(".config/mcp-jail", 0o700))
	testkit.WriteFile(t, ".config/mcp-jail/config.toml", config)
	testkit.WriteFile(t, ".claude.json", `{"mcpServers": {`+strings.TrimPrefix(file, ", ")+`}}`)
	testkit.PlantBelow(t, filepath.Join(home, ".local/state/mcp-jail/servers"), "_activeHelp_ x/last.json")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	testkit.Must(t, err)
	defer null.Close()
	line := &cli.CommandLine{Console: terminal.New(null, null, null)}
	seen := map[string]bool{}
	ask := func(cmd *cobra.Command, what string, f cobra.CompletionFunc) {
		for _, args := range [][]string{nil, {"good"}} {
			lines, _ := f(cmd, args, "")
			for _, line := range lines {
				word, about, _ := strings.Cut(line, "\t")
				if again, ok := show.Candidate(word, about); !ok || again != line {
					t.Errorf("%s %s: %q", cmd.Name(), what, line)
				}
				seen[word] = true
			}
		}
	}
	for _, cmd := range commandTree(line).Commands() {
		if cmd.ValidArgsFunction != nil {
			ask(cmd, "", cmd.ValidArgsFunction)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if words, ok := cmd.GetFlagCompletionFunc(f.Name); ok {
				ask(cmd, "--"+f.Name, words)
			}
		})
	}
	if !seen["good"] || !seen["HOME"] || !seen["github"] {
		t.Errorf("the control: %v", seen)
	}
}
