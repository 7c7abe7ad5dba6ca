package wrapping

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"

	"github.com/mcp-jail/mcp-jail/clients"
)

// found returns what each file says of its servers, in lines.
func found(t *testing.T, h clients.Host, sel Selection) (lines []string) {
	t.Helper()
	files, err := Find(h, sel)
	must(t, err)
	for _, f := range files {
		rel, _ := filepath.Rel(h.Project, f.Path)
		if f.Err != nil {
			lines = append(lines, fmt.Sprintf("%s: %v", rel, f.Err))
		}
		for _, e := range f.Entries {
			reader, _ := e.reader()
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s %s (%s) %s", rel, e.Server, reader.Name, e.Argv(), e.Left, e.Detail)))
		}
	}
	return lines
}

// TestReadings: status shows and wrap changes what each client finds in a file that several read.
func TestReadings(t *testing.T) {
	for name, c := range testkit.Cases(t, "reading.txt") {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			for file, text := range c {
				if file != "want" && file != "links" {
					write(t, filepath.Join(h.Project, file), strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "<CR>", "\r"))
				}
			}
			testkit.PlantBelow(t, h.Project, linesOf(c["links"])...)
			got := strings.Join(found(t, h, Selection{}), "\n")
			for _, want := range linesOf(c["want"]) {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}

// TestFoldersWithMore: a folder of which not all files are looked at is named.
func TestFoldersWithMore(t *testing.T) {
	const server = "mcpServers: [{name: d, command: d}]"
	h := newHost(t)
	folder := filepath.Join(h.Project, ".continue/mcpServers/b")
	write(t, filepath.Join(folder, "z.yaml"), server)
	if got := strings.Join(found(t, h, Selection{}), "\n"); !strings.Contains(got, "d: continue [d]") || strings.Contains(got, "does not look") {
		t.Errorf("control: %s", got)
	}
	must(t, os.Mkdir(filepath.Join(h.Project, "elsewhere"), 0o700))
	must(t, os.Symlink("../../elsewhere", filepath.Join(h.Project, ".continue/mcpServers/link")))
	if got := strings.Join(found(t, h, Selection{}), "\n"); !strings.Contains(got, "mcpServers/link: mcp-jail does not look at all") {
		t.Errorf("a link to a folder: %s", got)
	}
	must(t, os.Remove(filepath.Join(h.Project, ".continue/mcpServers/link")))
	for i := range mostFiles {
		write(t, filepath.Join(folder, fmt.Sprint(i)), "")
	}
	if got := strings.Join(found(t, h, Selection{}), "\n"); !strings.Contains(got, ".continue/mcpServers: mcp-jail does not look at all") {
		t.Errorf("many files: %s", got)
	}
}

// TestLinkHidesNothing: a link of a project to a file of the user's does not change what is found in
// it, and whose file it is.
func TestLinkHidesNothing(t *testing.T) {
	h := newHost(t)
	user := filepath.Join(h.Home, ".config/Code/User/mcp.json")
	write(t, user, `{"servers": {"mine": {"command": "x", "env": {"PATH": "/p"}}}}`)
	before := found(t, h, Selection{})
	must(t, os.Symlink(user, filepath.Join(h.Project, ".mcp.json")))
	files, err := Find(h, Selection{})
	must(t, err)
	if len(files) != 1 || len(files[0].Entries) != 1 || files[0].Entries[0].Left != "" || files[0].IsProject() || files[0].Real() != user {
		t.Errorf("%q becomes %q", before, found(t, h, Selection{}))
	}
	must(t, os.Remove(filepath.Join(h.Project, ".mcp.json")))
	theirs := filepath.Join(h.Project, ".mcp.json")
	write(t, theirs, `{"servers": {"theirs": {"command": "x", "env": {"PATH": "/p"}}}}`)
	must(t, os.Remove(user))
	must(t, os.Symlink(theirs, user))
	if files, err = Find(h, Selection{}); err != nil || len(files) != 1 || !files[0].IsProject() || !strings.HasPrefix(string(files[0].Judge(files[0].Entries[0], Program{Path: program}, h).Why), string(environment)) {
		t.Errorf("a link of the user's to a project's file: %q, %v", found(t, h, Selection{}), err)
	}
}

// TestReadingsAreWrapped: the entries of all readings change in one file, are recorded together, and
// come back.
func TestReadingsAreWrapped(t *testing.T) {
	h := newHost(t)
	const text = `{"mcpServers": {"a": {"command": "x"}}, "servers": {"b": {"command": "y"}}}`
	write(t, filepath.Join(h.Project, ".mcp.json"), text)
	must(t, os.MkdirAll(filepath.Join(h.Project, ".vscode"), 0o700))
	must(t, os.Symlink("../.mcp.json", filepath.Join(h.Project, ".vscode/mcp.json")))
	change := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
	if len(change.Changed()) != 2 {
		t.Fatalf("%d change\n%s", len(change.Changed()), change.After)
	}
	must(t, os.WriteFile(filepath.Join(h.Project, ".mcp.json"), change.After, 0o600))
	f := only(t, h, Selection{})
	if lefts := []clients.Reason{f.Entries[0].Left, f.Entries[1].Left}; !slices.Equal(lefts, []clients.Reason{clients.Jailed, clients.Jailed}) {
		t.Errorf("%q", lefts)
	}
	if back := f.Unwrap(Selection{}); string(back.After) != text {
		t.Errorf("back: %s", back.After)
	}
}
