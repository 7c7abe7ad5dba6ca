package confine

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/refusals"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestRefusalsPastTheLimitAreCounted: refusals that the reporter holds back are counted later,
// also if nothing more is refused.
func TestRefusalsPastTheLimitAreCounted(t *testing.T) {
	t.Parallel()
	var p Process
	l := &refusals.Reporter{Say: p.handleEvent}
	const times = 10 * spec.MaxAgain
	for range times {
		l.Refused(&seccomp.Notification{Tid: uint32(unix.Gettid())}, "write", "/a")
	}
	testkit.Equal(t, "", len(p.Denials()), 1)
	testkit.Eventually(t, "the rest is told", func() bool { return p.Denials()[0].Count == times })
	for range times { // and so it is of the next page
		l.Refused(&seccomp.Notification{Tid: uint32(unix.Gettid())}, "write", "/a")
	}
	testkit.Eventually(t, "the rest of the next page is told, once", func() bool { return p.Denials()[0].Count == 2*times })
}

// TestRefusalsPastTheLimitAreNotResolved: the count of refusals past the limit has no path, so
// that Denials does not look one up.
func TestRefusalsPastTheLimitAreNotResolved(t *testing.T) {
	var p Process
	p.handleEvent(spec.Refusal{Axis: policy.AxisIPC, Operation: "connect", Target: policy.DenialOthers, Absent: true}.Event(1))
	p.handleEvent(spec.Refusal{Axis: policy.AxisIPC, Operation: "connect", Target: "/nowhere/socket", Absent: true}.Event(1))
	if d := p.Denials(); len(d) != 1 || d[0].Target != policy.DenialOthers {
		t.Errorf("%v", d)
	}
}

// TestListen: what a supervisor with host namespaces reports before its program runs is the error of
// the start, and afterwards the reason for the end.
func TestListen(t *testing.T) {
	failed := spec.Event{Kind: spec.EventFailed, Step: "landlock", Num: int(syscall.ENOMEM)}
	for _, c := range []struct {
		name, err, why string
		events         []spec.Event
	}{
		{"before", "step landlock failed: cannot allocate memory", "", []spec.Event{failed}},
		{"after", "", "step landlock failed: cannot allocate memory", []spec.Event{{Kind: spec.EventStarted}, failed}},
		{"no reason before", "ended without a reason", "", nil},
		{"no reason after", "", "", []spec.Event{{Kind: spec.EventStarted}}},
	} {
		r, w, err := os.Pipe()
		testkit.Must(t, err)
		for _, e := range c.events {
			testkit.Must(t, testkit.ErrorOf(w.Write(e.Encode())))
		}
		w.Close()
		var p Process
		started := make(chan error, 1)
		err = p.listen(r, started)
		r.Close()
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || p.why != c.why {
			t.Errorf("%s: error %v, reason %q", c.name, err, p.why)
		}
		if began := len(started) == 1; began != (len(c.events) > 0 && c.events[0].Kind == spec.EventStarted) {
			t.Errorf("%s: started %t", c.name, began)
		}
	}
}
