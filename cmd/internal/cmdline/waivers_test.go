package cmdline

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestParseWaivers tests that each waiver is named by its own word, and that no word names several.
func TestParseWaivers(t *testing.T) {
	got, err := ParseWaivers("--waive", []string{"macos", "fs", "macos"})
	if want := []policy.Axis{policy.WaiveMacOS, policy.AxisFs, policy.WaiveMacOS}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if got, err := ParseWaivers("--waive", Waivers()); err != nil || !slices.Equal(got, policy.Waivers()) {
		t.Errorf("%q, %v", got, err)
	}
	for _, word := range []string{"", "all", "*", "FS", "fs,net", " fs", "linux"} {
		if got, err := ParseWaivers("--waive", []string{"fs", word}); err == nil || got != nil {
			t.Errorf("%q names %q", word, got)
		}
	}
}
