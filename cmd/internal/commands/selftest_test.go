package commands

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestSelfTestText tests what doctor says of the self-test: nothing without one, what failed first, and
// how to waive it where that can be.
func TestSelfTestText(t *testing.T) {
	c := terminal.New(os.Stdin, os.Stdout, os.Stderr)
	for _, k := range testkit.Table[struct {
		name, result string
		all          bool
		want, not    []string
	}](t, "selftest.txt") {
		var r confine.SelfTest
		testkit.Must(t, json.Unmarshal([]byte(k.result), &r))
		got := selfTestText(c, r, k.all)
		if k.want == nil && got != "" {
			t.Errorf("%s: %q", k.name, got)
		}
		for _, w := range k.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is missing in:\n%s", k.name, w, got)
			}
		}
		for _, w := range k.not {
			if strings.Contains(got, w) {
				t.Errorf("%s: %q is in:\n%s", k.name, w, got)
			}
		}
		if i, j := strings.Index(got, "R2"), strings.Index(got, "R1"); k.name == "failed" && (i < 0 || j < i) {
			t.Errorf("%s: the probe that failed is not the first:\n%s", k.name, got)
		}
	}
}
