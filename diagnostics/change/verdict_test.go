package change

import (
	"os"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestVerdicts: each kind has its row in diagnostics/diagnose/testdata/kinds.toml, where TestKinds has what the kinds are about.
func TestVerdicts(t *testing.T) {
	var table struct {
		Kind []struct{ Kind, Said, Recorded, Entry, Typed, Foreign string }
	}
	data, err := os.ReadFile("../diagnose/testdata/kinds.toml")
	testkit.Must(t, err)
	testkit.Must(t, toml.Unmarshal(data, &table))
	words := map[Verdict]string{Never: "never", Cannot: "cannot", Apart: "apart", Ask: "ask", Fine: "fine"}
	seen := map[policy.ReasonKind]bool{}
	for _, row := range table.Kind {
		kind := policy.ReasonKind(row.Kind)
		seen[kind] = true
		for from, want := range map[Source]string{Said: row.Said, Recorded: row.Recorded, Entry: row.Entry, Typed: row.Typed, Foreign: row.Foreign} {
			if got := words[VerdictOf(kind, from)]; got != want {
				t.Errorf("%s from source %d: %s, want %s", kind, from, got, want)
			}
		}
		if Because(policy.Reason{Kind: kind}, "it") == "" {
			t.Errorf("nothing is said of %s", kind)
		}
	}
	for kind := range verdicts {
		if !seen[kind] {
			t.Errorf("%s has no row", kind)
		}
	}
	if VerdictOf("unknown", Typed) != Never {
		t.Error("an unknown kind is not refused")
	}
}
