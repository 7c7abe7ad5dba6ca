package diagnostics

import "testing"

// TestBrief tests that a brief sentence has all words but the server's name.
func TestBrief(t *testing.T) {
	for _, c := range []struct {
		evidence Evidence
		what     string
		brief    string
	}{
		{Evidence{Server: "%s", Tool: "read%s", Stage: StageCall}, `read% s of % s failed`, `read% s failed`},
		{Evidence{Server: "s", Stage: StageStartup}, `s ended before its first answer`, `s ended before its first answer`},
	} {
		if d := Diagnose(c.evidence); d.What != c.what || d.Brief() != c.brief {
			t.Errorf("%q and %q, want %q and %q", d.What, d.Brief(), c.what, c.brief)
		}
	}
	if got := (Tools{Server: "s", Accept: "a", Refused: true}).Diagnosis().Brief(); got != `the tools are not those that mcp-jail.lock pins, and pin_tools is "enforce"` {
		t.Errorf("%q", got)
	}
}
