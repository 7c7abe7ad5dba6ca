package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestProgramsWithoutCalls tests that programs work without the calls that a jail refuses because no limit counts
// their memory. The control is the same program without a jail.
func TestProgramsWithoutCalls(t *testing.T) {
	testkit.NeedsLong(t)
	need(t, "node")
	for name, script := range testkit.Archive(t, "programs.txt") {
		t.Run(name, func(t *testing.T) {
			program, _, _ := strings.Cut(name, ":")
			need(t, program)
			if program == "postgres" && os.Getuid() == 0 {
				t.Skip("PostgreSQL does not run as root")
			}
			t.Parallel()
			script = "cd $(mktemp -d)\n" + strings.NewReplacer("CHROMIUM", chromium(), "POSTGRES", postgresBin()).Replace(script)
			w := newWorld(t)
			out, err := w.plain("sh", "-ec", script).Output()
			if err != nil || len(out) == 0 {
				t.Fatalf("without a jail: %v %s\n%s", err, stderrOf(err), out)
			}
			s := execSession(t, w)
			testkit.Equal(t, "in the jail", strings.TrimSpace(s.mustRun("sh", "-ec", script)), strings.TrimSpace(string(out)))
			if status := s.close(); status != 0 {
				t.Errorf("exit status %d: %s", status, &s.stderr)
			}
		})
	}
}
