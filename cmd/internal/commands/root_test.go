package commands

import (
	"bytes"
	"io/fs"
	"os"
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

// TestReference tests that docs/reference.md has what `mcp-jail help` prints about each command. -update writes the page.
func TestReference(t *testing.T) {
	var help strings.Builder
	for _, name := range cmdline.Commands() {
		cmd, err := find(commandTree(&cli.CommandLine{}), name)
		testkit.Must(t, err)
		if text := cli.HelpText(cmd, 100); name == "help" {
			text = cli.RulesText(100)
			help.WriteString("### Rules\n\n```text\n" + text + "```\n\n")
		} else {
			help.WriteString("### " + name + "\n\n```text\n" + text + "```\n\n")
		}
	}
	page := testkit.ReadFile(t, "../../../docs/reference.md")
	before, rest, _ := strings.Cut(page, "<!-- commands -->\n")
	_, after, ok := strings.Cut(rest, "<!-- /commands -->\n")
	if !ok {
		t.Fatal("docs/reference.md has no place for the commands")
	}
	testkit.Golden(t, "../../../../docs/reference.md", before+"<!-- commands -->\n"+help.String()+"<!-- /commands -->\n"+after)
}

// TestManPages makes a manual page of each command. With -update it writes them into the folder
// man of packaging, for packaging/generate.sh: they are not kept in the repository.
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
		if !strings.Contains(text, ".SH OPTIONS") || !strings.Contains(text, cmd.Short) {
			t.Errorf("the page of %s lacks its purpose or its options:\n%s", cmd.Name(), text)
		}
		if testkit.Update() {
			dir := filepath.Join("..", "..", "..", "packaging", "man")
			testkit.Must(t, os.MkdirAll(dir, 0o755))
			testkit.Must(t, os.WriteFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"), []byte(text), 0o644))
		}
	}
}
