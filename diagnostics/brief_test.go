package diagnostics

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
)

// TestBrief tests that a brief sentence has all words but the server's name.
func TestBrief(t *testing.T) {
	for _, c := range []struct {
		diagnosis Diagnosis
		want      string
	}{
		{Diagnosis{What: summary(&Evidence{Server: "s", Tool: "read", Stage: StageCall}), Server: "s", Tool: "read"}, `the tool "read" failed`},
		{Diagnosis{What: report.SomethingRefused(report.DuringCall("read"), report.OfServer("s")), Server: "s", Tool: "read"}, `the jail refused something during the call of "read"`},
		{Tools{Server: "s", Accept: "a", Refused: true}.Diagnosis(), `the tools are not those that mcp-jail.lock pins, and pin_tools is "enforce"`},
		{Diagnosis{What: `server "s" ended`, Server: "s"}, `server "s" ended`},
	} {
		if got := c.diagnosis.Brief(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
