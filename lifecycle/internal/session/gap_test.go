package session

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestGapFailureOnMac: a client shows one line. It says that there are several gaps, where macOS has
// them under every policy, and names the flag that accepts them all.
func TestGapFailureOnMac(t *testing.T) {
	names := confine.Gap{Axis: policy.AxisFs, What: "names are hidden", Why: "they can be guessed", Fix: "accept it", Platform: policy.WaiveMacOS}
	survives := confine.Gap{Axis: policy.AxisProcess, What: "no process survives", Why: "one can leave", Fix: "accept it", Platform: policy.WaiveMacOS}
	ports := confine.Gap{Axis: policy.AxisNet, What: "only some ports", Why: "all or none", Fix: "drop them"}
	for _, tt := range []struct {
		gaps      []confine.Gap
		cause     string
		not, flag string
	}{
		{[]confine.Gap{names, survives}, "2 parts of it, as under every policy on macOS, the first of them fs: names are hidden", "accept it", "--waive macos"},
		{[]confine.Gap{names}, "enforce the policy: fs: names are hidden", "parts", "--waive macos"},
		{[]confine.Gap{ports, names}, "enforce the policy: net: only some ports", "parts", "--waive net --waive macos"},
	} {
		d := GapFailure("s", &confine.GapError{Gaps: tt.gaps, Waive: confine.WaiversFor(tt.gaps, nil)})
		text := d.Text()
		if !strings.Contains(text, tt.cause) || strings.Contains(text, tt.not) || !strings.Contains(d.Fix, tt.flag) {
			t.Errorf("want %q and %q:\n%s", tt.cause, tt.flag, text)
		}
	}
}
