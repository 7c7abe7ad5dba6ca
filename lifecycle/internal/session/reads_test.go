package session

import (
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestClassify: of the refused reads that only certain reads record, those of before the first
// call are usual ones.
func TestClassify(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	for _, c := range []struct {
		what   string
		call   bool
		denial policy.Denial
		want   bool
	}{
		{"before the call", true, policy.Denial{Axis: policy.AxisFs, Operation: "read", Time: at(-1)}, true},
		{"a directory", true, policy.Denial{Axis: policy.AxisFs, Operation: "list", Time: at(-1)}, true},
		{"in the call", true, policy.Denial{Axis: policy.AxisFs, Operation: "read", Time: at(1)}, false},
		{"in the call again", true, policy.Denial{Axis: policy.AxisFs, Operation: "read", Time: at(-1), Last: at(1)}, false},
		{"a write", true, policy.Denial{Axis: policy.AxisFs, Operation: "write", Time: at(-1)}, false},
		{"without a call", false, policy.Denial{Axis: policy.AxisFs, Operation: "read", Time: at(-1)}, false},
	} {
		first := &begin
		if !c.call {
			first = nil
		}
		all := []policy.Denial{c.denial}
		if classifyReads(false, all, first); all[0].Background || len(withoutReads(false, all)) != 1 {
			t.Errorf("%s, in an ordinary jail: %v", c.what, all[0].Background)
		}
		if classifyReads(true, all, first); all[0].Background != c.want {
			t.Errorf("%s: %v", c.what, all[0].Background)
		}
		if left := withoutReads(true, all); (len(left) == 1) != (c.denial.Operation == "write") {
			t.Errorf("%s: %v is left", c.what, left)
		}
	}
}
