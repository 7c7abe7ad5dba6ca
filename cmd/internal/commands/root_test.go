package commands

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestMessagesNameSubcommands tests that all subcommands which messages name exist.
func TestMessagesNameSubcommands(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	known := map[string]bool{}
	for _, name := range cmdline.Commands() {
		known[name] = true
	}
	advice := regexp.MustCompile("(?:`|  )mcp-jail ([a-z]+)")
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range advice.FindAllSubmatch(b, -1) {
			if found++; !known[string(m[1])] {
				t.Errorf("%s speaks of %s, and there is no such command", path, m[0])
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Fatalf("%d found, %v", found, err)
	}
}

// TestCommands tests that both programs have the same list of commands, and that each has a
// help text whose lines fit a terminal, and an example.
func TestCommands(t *testing.T) {
	root := commandTree(&cli.CommandLine{})
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.Hidden { // the library's completion
			continue
		}
		names = append(names, cmd.Name())
		text := cli.HelpText(cmd, 80)
		for line := range strings.Lines(text) {
			if len(line) > 100 {
				t.Errorf("%s: a line has %d bytes: %s", cmd.Name(), len(line), line)
			}
		}
		if !strings.HasPrefix(text, "Usage: mcp-jail "+cmd.Name()) {
			t.Errorf("%s: %s", cmd.Name(), text)
		}
	}
	want := cmdline.Commands()
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the commands are %q, and package cmdline has %q", names, want)
	}
}

// TestHelpPage tests that the --help of all commands is one page: docs/commands.md, of at most 120 lines.
func TestHelpPage(t *testing.T) {
	var page strings.Builder
	for _, name := range cmdline.Commands() {
		cmd, err := find(commandTree(&cli.CommandLine{}), name)
		testkit.Must(t, err)
		page.WriteString(cli.OptionsText(cmd, 80))
	}
	if n := strings.Count(page.String(), "\n"); n > 120 {
		t.Errorf("the page has %d lines", n)
	}
	testkit.Golden(t, "../../../../docs/commands.md", "# Commands\n\nThe answers of `mcp-jail COMMAND --help`, in one page:\n\n```text\n"+page.String()+"```\n\n## Rules\n\n```text\n"+cli.RulesText(80)+"```\n")
}

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

// TestManPages compares the manual pages in packaging/man with those that the commands give.
// With -update it writes them.
func TestManPages(t *testing.T) {
	root := commandTree(&cli.CommandLine{})
	root.DisableAutoGenTag = true
	pages := []*cobra.Command{root}
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" && !cmd.Hidden {
			pages = append(pages, cmd)
		}
	}
	for _, cmd := range pages {
		var page bytes.Buffer
		// The date is that of the format of these pages: a release does not change it.
		date := time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
		header := &doc.GenManHeader{Title: strings.ToUpper(strings.ReplaceAll(cmd.CommandPath(), " ", "-")), Section: "1", Source: "mcp-jail", Manual: "mcp-jail", Date: &date}
		testkit.Must(t, doc.GenMan(cmd, header, &page))
		if strings.Contains(page.String(), "Auto generated") {
			t.Errorf("%s: the page has the date of its generation", cmd.Name())
		}
		text := page.String()
		cmd.Flags().VisitAll(func(f *pflag.Flag) { // the library leaves the names of values out
			text = strings.ReplaceAll(text, "--"+f.Name+"\\fP=\n", "--"+f.Name+"\\fP=\\fI"+f.Value.Type()+"\\fP\n")
			text = strings.ReplaceAll(text, "--"+f.Name+"\\fP[=false]\n", "--"+f.Name+"\\fP\n")
		})
		testkit.Golden(t, "../../../../packaging/man/"+strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1", text)
	}
	files, err := os.ReadDir("../../../packaging/man")
	testkit.Must(t, err)
	if len(files) != len(pages) {
		t.Errorf("packaging/man has %d files for %d pages: remove those of commands that are gone", len(files), len(pages))
	}
}
