package commands

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// printedCommand matches a command that is printed for a user to type: a line of its own in an answer, and what the program makes a
// command of, with %s where a name comes in.
var printedCommand = map[string]*regexp.Regexp{
	".go":    regexp.MustCompile("(?:\\\\n +|Typed(?:OK)?\\(\")(mcp-jail [a-z]+(?:[ \\\\][^\"`]*?)??)(?:\\\\n|\"|`|  )"),
	".txt":   regexp.MustCompile(`^ +(mcp-jail [^()*+?]*)$`),
	".json":  regexp.MustCompile(`"(mcp-jail [^"]*)"`),
	".txtar": regexp.MustCompile(`^  +(mcp-jail [^()*+?]*)$`),
}

// TestPrintedCommands: each command that an answer of mcp-jail ends in, in the source, the rows and the golden files, is one that
// mcp-jail takes.
func TestPrintedCommands(t *testing.T) {
	found := map[string]int{}
	root := filepath.Join("..", "..", "..")
	for _, dir := range []string{"cmd", "diagnostics", "lifecycle", "policy", "packages", "presets", "confine"} {
		testkit.Must(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			kind := filepath.Ext(path)
			if err != nil || d.IsDir() || printedCommand[kind] == nil || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "fold") {
				return err
			}
			for i, line := range strings.Split(testkit.ReadFile(t, path), "\n") {
				for _, m := range printedCommand[kind].FindAllStringSubmatch(line, -1) {
					command := strings.NewReplacer(`\"`, `"`, "%s", "NAME", "%q", "NAME").Replace(m[1])
					if strings.HasPrefix(m[0], "Typed") {
						command += " NAME"
					}
					if found[kind]++; parseCommand(command) != nil {
						t.Errorf("%s:%d: %s: %v", path, i+1, command, parseCommand(command))
					}
				}
			}
			return nil
		}))
	}
	for kind := range printedCommand {
		if found[kind] == 0 {
			t.Errorf("nothing was found in %s", kind)
		}
	}
	for _, line := range []string{`	text := "To see it:\n  mcp-jail grant %s --pre-call"`, `	show.Typed("mcp-jail gront", name)`} {
		m := printedCommand[".go"].FindStringSubmatch(line)
		if !slices.ContainsFunc(m[min(1, len(m)):], func(command string) bool { return parseCommand(command) != nil }) {
			t.Errorf("%s passes: %q", line, m)
		}
	}
}
