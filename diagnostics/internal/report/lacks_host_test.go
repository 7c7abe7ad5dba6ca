package report

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLacksHost tests that a host is unknown only if nothing names it: else its name is proposed, and not
// a line with HOST.
func TestLacksHost(t *testing.T) {
	unknown, named, file := Hint{Axis: policy.AxisNet}, Hint{Axis: policy.AxisNet, Target: "example.com"}, Hint{Axis: policy.AxisFs, Target: "/a"}
	for _, c := range []struct {
		hints []Hint
		want  bool
	}{{nil, false}, {[]Hint{file}, false}, {[]Hint{unknown}, true}, {[]Hint{file, unknown}, true}, {[]Hint{named}, false}, {[]Hint{named, unknown}, false}} {
		failed := Record{Diagnoses: []Diagnosis{{Hints: c.hints}}}
		if got := failed.LacksHost(); got != c.want {
			t.Errorf("%v: %t", c.hints, got)
		}
		if got := (Record{Failed: &failed}).LacksHost(); got != c.want {
			t.Errorf("%v, in an earlier session: %t", c.hints, got)
		}
	}
}
