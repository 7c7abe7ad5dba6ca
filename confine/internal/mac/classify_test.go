package mac

import (
	"strings"
	"syscall"
	"testing"
)

// TestClassify has the ways in which sandbox-exec fails. Each error says what happened, and what to do
// where one thing helps.
func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		ended           Ended
		step, says, fix string
	}{
		{Ended{Code: 65, Said: "sandbox-exec: unbound variable: x at <input string>, line 3\n"}, stepApply, "knows other rules", "mcp-jail doctor"},
		{Ended{Code: 71, Said: "sandbox-exec: sandbox_apply: Operation not permitted\n"}, stepApply, "inside another sandbox", "outside that sandbox"},
		{Ended{Code: 71, Said: "sandbox-exec: execvp() of '/x' failed: No such file or directory\n"}, stepApply, "mcp-jail's own program", "you may execute it"},
		{Ended{Code: 71}, stepApply, "does not apply", ""},
		{Ended{Code: 134}, stepReady, "was aborted", "mcp-jail doctor"},
		{Ended{Signal: syscall.SIGABRT, Said: "dyld: no\nlast"}, stepReady, `("last")`, "mcp-jail doctor"},
		{Ended{Signal: syscall.SIGKILL}, stepReady, "signal 9", ""},
		{Ended{Code: 1, Said: strings.Repeat("a", 1000)}, stepReady, "status 1", ""},
	} {
		e := classify(tt.ended)
		if e.Step != tt.step || !strings.Contains(e.Detail, tt.says) || !strings.Contains(e.Fix, tt.fix) || (e.Fix == "") != (tt.fix == "") {
			t.Errorf("%+v: %+v", tt.ended, e)
		}
		if strings.Contains(e.Detail, "doctor") || len(e.Detail) > 600 {
			t.Errorf("%+v: the reason has a remedy, or is long: %s", tt.ended, e.Detail)
		}
		if e.Fix != "" && !strings.HasSuffix(e.Error(), ". To mend it, "+e.Fix) {
			t.Errorf("%+v: %s", tt.ended, e)
		}
	}
}
