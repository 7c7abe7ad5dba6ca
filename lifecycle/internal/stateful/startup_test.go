//go:build unix

package stateful

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestDeclinedThenSilent: an error to server/discover is no first answer. A server that
// hangs or ends on the next request fails at its start.
func TestDeclinedThenSilent(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{"declines-hang": "0 -31006 boot", "dies-hang": "0 -31006 boot"} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Server: server}, func(s *session.Session) {
				s.Profile.Startup = time.Second
			})
			p.Send(probe)
			sessiontest.Has(t, p.Line(), "-32601")
			time.Sleep(1200 * time.Millisecond) // without a request the timeout does not run
			p.Send(sessiontest.Initialize)
			sessiontest.IsFailure(t, p.Line(), want)
			p.Send(`{"id":1,"method":"tools/list"}`)
			sessiontest.IsFailure(t, p.Line(), "1 "+want[2:])
			if _, _, status := p.Close(); status != 1 {
				t.Errorf("status %d", status)
			}
		})
	}
}

// TestSilentAtStartup: a server without a first answer is ended after the startup timeout, whatever comes
// first. Until then stderr says that it is waited for.
func TestSilentAtStartup(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "silent"}, func(s *session.Session) {
		s.Profile.Startup = 300 * time.Millisecond
		session.TimesOf(s).SlowNote, session.TimesOf(s).SlowRepeat = 50*time.Millisecond, 100*time.Millisecond
	})
	p.Send(`[{"id":1,"method":"a"},{"method":"n"},{"id":2,"method":"b"}]`, sessiontest.Initialize)
	batch := p.Line()
	if !strings.HasPrefix(batch, "[{") || strings.Count(batch, "-31006") < 2 || !strings.Contains(batch, `"id":2`) {
		t.Errorf("got %q", batch)
	}
	sessiontest.IsFailure(t, p.Line(), "0 -31006 boot")
	status, stderr := p.Ended()
	if status != 1 || strings.Count(stderr, "waiting for the first answer") < 2 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// TestSilentUnasked: without a request, a server may be silent for longer than the startup
// timeout.
func TestSilentUnasked(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "polite"}, func(s *session.Session) { s.Profile.Startup = time.Second })
	time.Sleep(1200 * time.Millisecond)
	p.Send(sessiontest.Initialize)
	if got := p.Line(); got != sessiontest.AnswerTo("0", sessiontest.Initialize) {
		t.Errorf("got %q", got)
	}
	p.Close()
}
