//go:build unix

package lifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailRemarks: warnings of the jail go to stderr and the record, other remarks to the
// log.
func TestJailRemarks(t *testing.T) {
	t.Parallel()
	warning := confine.Notice{Text: "a port leads nowhere", Warning: true}
	saysOnce(t, &sessiontest.Fake{Server: "polite", Remarks: []confine.Notice{warning, warning, {Text: "this kernel is odd"}}}, "mcp-jail: warning: a port leads nowhere\n", 1)
	saysOnce(t, &sessiontest.Fake{Server: "polite", Remarks: []confine.Notice{{Text: "this kernel is odd"}}}, "odd", 0)
}

// TestSlowBuild: a jail that is slow to build is waited for until the startup timeout, and
// stderr says so.
func TestSlowBuild(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Block: true}, func(s *session.Session) {
		s.Profile.Startup = 400 * time.Millisecond
		session.TimesOf(s).SlowNote, session.TimesOf(s).SlowRepeat = 50*time.Millisecond, 100*time.Millisecond
	})
	p.Send(sessiontest.Initialize)
	sessiontest.IsFailure(t, p.Line(), "0 -31005 exec")
	status, stderr := p.Ended()
	if status != 3 || strings.Count(stderr, `building the jail of server "test", for at most 400ms`) < 2 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// saysOnce wants a session to say something to stderr and in its record, so many times.
func saysOnce(t *testing.T, f *sessiontest.Fake, what string, times int) {
	t.Helper()
	var record diagnostics.Record
	p := begin(t, f, func(s *session.Session) { s.Sink = func(r diagnostics.Record) { record = r } })
	p.Send(sessiontest.Initialize)
	p.Line()
	_, stderr, _ := p.Close()
	if recorded := strings.Join(record.Warnings, "\n"); strings.Count(stderr, what) != times || strings.Count("mcp-jail: "+recorded+"\n", what) != times {
		t.Errorf("%q; in the record: %q", stderr, recorded)
	}
}

// TestWaivedGaps: what the user has waived is told once in a session and is on record, also if the
// server is started again. A line that was told before the session is on record alone.
func TestWaivedGaps(t *testing.T) {
	t.Parallel()
	plan := &confine.Plan{Gaps: []confine.Gap{
		{Axis: policy.AxisNet, What: "hosts", Why: "no namespaces", Waived: true},
		{Axis: policy.AxisFs, What: "names", Why: "an old kernel", Waived: true},
		{Axis: policy.AxisFs, What: "modes", Why: "not waived"},
	}}
	lines := session.WaivedWarnings(plan)
	p := begin(t, &sessiontest.Fake{Server: "dies", Plan: plan}, func(s *session.Session) { s.Waived = lines[1:] })
	p.Send(`{"jsonrpc":"2.0","id":0,"method":"server/discover"}`)
	p.Line()
	p.Send(sessiontest.Initialize)
	p.Line()
	_, stderr, _ := p.Close()
	if strings.Count(stderr, "not enforced (waived): net: hosts: no namespaces") != 1 || strings.Contains(stderr, "fs: ") {
		t.Errorf("stderr %q", stderr)
	}
	if recorded := p.Record.Waived; len(recorded) != 2 || !slices.Contains(recorded, lines[0]) || p.Fake.Starts != 2 {
		t.Errorf("%d starts, recorded %q", p.Fake.Starts, recorded)
	}
}
