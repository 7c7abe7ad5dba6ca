package diagnostics

import (
	"errors"
	"strings"
	"testing"
)

// TestRefusedProposal tests what is said of a grant with which the server would not start.
func TestRefusedProposal(t *testing.T) {
	for err, want := range map[error]string{
		nil:                           "grant --read ~/notes/a.md",
		errors.New("it says \x1b no"): "mcp-jail does not suggest allowing it, because the server would not start with it: it says",
	} {
		ev := evidence("EACCES: permission denied, open '/home/u/notes/a.md'")
		tried := 0
		ev.Try = func(tool string, words []string) error {
			if tried++; len(words) == 0 || tool != "" {
				t.Errorf("tried %q, %q", tool, words)
			}
			return err
		}
		d := Diagnose(ev)
		if tried == 0 || !strings.Contains(advised(d), want) || strings.Contains(advised(d), "\x1b") || (len(d.Words) > 0) != (err == nil) || (len(d.Hints[0].Words) > 0) != (err == nil) {
			t.Errorf("%v: tried %d times, %q\n%s", err, tried, d.Words, d.Text())
		}
	}
}
