package wine

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPackages runs tests of packages that are about Windows. One that Wine cannot pass is skipped with a
// reason that begins with the word Wine, and the workflow for Windows skips none.
func TestPackages(t *testing.T) {
	t.Parallel()
	h := start(t)
	for dir, c := range map[string]struct {
		run  string
		skip string // the tests that Wine cannot pass
	}{
		"confine/internal/winjail":  {".", "TestToken TestLimits"},
		"confine/internal/winproof": {".", ""},
		"policy/hostfs":             {"OwnAccount|OwnerOfFile", "TestOwnerOfFile"},
		"internal/private":          {"Lock", ""},
	} {
		t.Run(path.Base(dir), func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(h.dir, "bin", path.Base(dir)+".test.exe")
			testkit.Must(t, h.compile(path.Base(dir), []string{dir + "/wine.go"}, "test", "-c", "-o", program, "./"+dir))
			r := h.run(t, h.start(h.windowsPath(program), "-test.v", "-test.run", c.run), "")
			var skipped []string
			lines := strings.Split(strings.ReplaceAll(r.out, "\r\n", "\n"), "\n")
			for i, line := range lines {
				name, is := strings.CutPrefix(line, "--- SKIP: ")
				if !is {
					continue
				}
				name, _, _ = strings.Cut(name, " ")
				if skipped = append(skipped, name); i == 0 || !strings.Contains(lines[i-1], ": Wine: ") {
					t.Errorf("%s is skipped without a reason that Wine has", name)
				}
			}
			if got := strings.Join(skipped, " "); r.status != 0 || got != c.skip || !strings.Contains(r.out, "--- PASS: ") {
				t.Errorf("skipped %q, want %q: %v", got, c.skip, r)
			}
		})
	}
}
