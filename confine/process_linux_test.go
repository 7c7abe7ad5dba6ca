package confine

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/mediate"
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
	l := &mediate.Reporter{Say: p.handleEvent}
	const times = 10 * spec.MaxAgain
	for range times {
		l.Refused(&mediate.Request{N: seccomp.Notification{Tid: uint32(unix.Gettid())}}, "write", "/a")
	}
	if d := p.Denials(); len(d) != 1 {
		t.Errorf("%v", d)
	}
	testkit.Eventually(t, "the rest is told", func() bool { return p.Denials()[0].Count == times })
	for range times { // and so it is of the next page
		l.Refused(&mediate.Request{N: seccomp.Notification{Tid: uint32(unix.Gettid())}}, "write", "/a")
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
