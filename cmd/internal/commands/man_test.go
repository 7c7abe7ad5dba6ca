package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestManPages makes a manual page of each command. With -update it writes them to packaging/man, which
// packaging/generate.sh asks for: they are not kept in the repository.
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
