//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
)

// TestJailRemarks: warnings of the jail go to stderr and the record, other remarks to the
// log.
func TestJailRemarks(t *testing.T) {
	t.Parallel()
	warning := confine.Notice{Text: "a port leads nowhere", Warning: true}
	saysOnce(t, &fake{server: "polite", remarks: []confine.Notice{warning, warning, {Text: "this kernel is odd"}}}, "mcp-jail: warning: a port leads nowhere\n", 1)
	saysOnce(t, &fake{server: "polite", remarks: []confine.Notice{{Text: "this kernel is odd"}}}, "odd", 0)
}

// TestSlowBuild: a jail that is slow to build is waited for until the startup timeout, and
// stderr says so.
func TestSlowBuild(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{block: true}, func(s *Session) {
		s.Profile.Startup = 400 * time.Millisecond
		s.times.slowNote, s.times.slowRepeat = 50*time.Millisecond, 100*time.Millisecond
	})
	p.send(initialize)
	if got := failureOf(t, p.line()).String(); got != "0 -31005 exec" {
		t.Errorf("got %s", got)
	}
	status, stderr := p.ended()
	if status != 3 || strings.Count(stderr, `building the jail of server "test", for at most 400ms`) < 2 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}
