//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"
)

// TestDeclinedThenSilent: an error to server/discover is no first answer. A server that
// hangs or ends on the next request fails at its start.
func TestDeclinedThenSilent(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{"declines-hang": "0 -31006 boot", "dies-hang": "0 -31006 boot"} {
		t.Run(server, func(t *testing.T) {
			p := begin(t, &fake{server: server}, func(s *Session) { s.Profile.Startup = time.Second })
			p.send(probe)
			if got := p.line(); !strings.Contains(got, "-32601") {
				t.Errorf("got %q", got)
			}
			time.Sleep(1200 * time.Millisecond) // without a request the timeout does not run
			p.send(initialize)
			if got := failureOf(t, p.line()).String(); got != want {
				t.Errorf("got %s", got)
			}
			p.send(`{"id":1,"method":"tools/list"}`)
			if got := failureOf(t, p.line()).String(); got != "1 "+want[2:] {
				t.Errorf("got %s", got)
			}
			p.in.Close()
			p.rest()
			if status, _ := p.ended(); status != 1 {
				t.Errorf("status %d", status)
			}
		})
	}
}

// TestSilentWhateverComesFirst: in the modern era any request can be the first.
func TestSilentWhateverComesFirst(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"tools/call", "tools/list", "ping"} {
		p := begin(t, &fake{server: "silent"}, func(s *Session) { s.Profile.Startup = 200 * time.Millisecond })
		p.send(`{"id":0,"method":"` + method + `"}`)
		if got := failureOf(t, p.line()).String(); got != "0 -31006 boot" {
			t.Errorf("%s: got %s", method, got)
		}
		p.in.Close()
		p.rest()
		p.ended()
	}
}

// TestSlowNotes: stderr says that a slow server is waited for.
func TestSlowNotes(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "scribe"}, func(s *Session) { s.Profile.Call = 400 * time.Millisecond })
	p.send(`{"id":1,"method":"tools/call","params":{"name":"hang"}}`)
	if got := failureOf(t, p.line()).String(); got != "1 -31006 call hang" {
		t.Errorf("got %s", got)
	}
	p.in.Close()
	p.rest()
	if _, stderr := p.ended(); strings.Count(stderr, `waiting for the answer of server "test" to a call of tool "hang"`) != 1 {
		t.Errorf("stderr %q", stderr)
	}
	p = begin(t, &fake{server: "silent"}, func(s *Session) {
		s.Profile.Startup = time.Second
		s.times.slowNote, s.times.slowRepeat = 50*time.Millisecond, 100*time.Millisecond
	})
	p.send(initialize)
	p.line()
	p.in.Close()
	p.rest()
	if _, stderr := p.ended(); strings.Count(stderr, "waiting for the first answer") < 2 {
		t.Errorf("stderr %q", stderr)
	}
}

// TestSilentAtStartup: a server without a first answer is ended after the startup timeout.
func TestSilentAtStartup(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "silent"}, func(s *Session) {
		s.Profile.Startup = 300 * time.Millisecond
		s.times.slowNote = 50 * time.Millisecond
	})
	p.send(`[{"id":1,"method":"a"},{"method":"n"},{"id":2,"method":"b"}]`, initialize)
	batch := p.line()
	if !strings.HasPrefix(batch, "[{") || strings.Count(batch, "-31006") < 2 || !strings.Contains(batch, `"id":2`) {
		t.Errorf("got %q", batch)
	}
	if got := failureOf(t, p.line()).String(); got != "0 -31006 boot" {
		t.Errorf("got %s", got)
	}
	status, stderr := p.ended()
	if status != 1 || strings.Count(stderr, "waiting for the first answer") != 1 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// TestSilentUnasked: without a request, a server may be silent for longer than the startup
// timeout.
func TestSilentUnasked(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "polite"}, func(s *Session) { s.Profile.Startup = time.Second })
	time.Sleep(1200 * time.Millisecond)
	p.send(initialize)
	if got := p.line(); got != answerTo("0", initialize) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
}
