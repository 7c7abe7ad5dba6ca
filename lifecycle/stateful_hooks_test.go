//go:build unix

package lifecycle

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestComplaint: of a server that starts and complains, stderr and the record have the
// cause and the lines, once; a later failure is not put down to it. One that says no more
// than that it runs leaves no word.
func TestComplaint(t *testing.T) {
	for server, complains := range map[string]bool{"grumbling": true, "polite-aloud": false} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &fake{server: server}, func(s *Session) {
				s.Profile.Entries = []policy.Entry{{Path: "/usr", Rights: policy.Read | policy.Execute}}
				s.Exists = func(string) bool { return true }
			})
			p.send(initialize)
			p.line()
			for range 2 {
				p.send(`{"id":1,"method":"tools/list"}`)
				p.line()
			}
			p.send(`{"id":1,"method":"tools/call","params":{"name":"x"}}`)
			if got := p.line(); strings.Contains(got, "/home/me/docs") {
				t.Errorf("the call was answered with %s", got)
			}
			p.in.Close()
			p.rest()
			_, stderr := p.ended()
			said := strings.Count(stderr, `server "test" has started, and complains on stderr`)
			if complains != (said == 1) || complains != strings.Contains(stderr, `mcp-jail:     path = "/home/me/docs"`) {
				t.Errorf("said %d times: %s", said, stderr)
			}
			if complains != slices.ContainsFunc(p.record.Diagnoses, func(d diagnostics.Diagnosis) bool { return d.Stage == diagnostics.StageBoot && len(d.Grant) > 0 }) {
				t.Errorf("recorded %+v", p.record.Diagnoses)
			}
		})
	}
}
