//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestClientPauses: a client that does not read for longer than the draining takes gets
// everything, as it would without us.
func TestClientPauses(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "parting"}, func(s *session.Session) { session.TimesOf(s).DrainTotal = 50 * time.Millisecond })
	p.Send(sessiontest.Initialize, `{"id":77,"method":"tools/call","params":{"name":"t"}}`)
	sessiontest.WaitFor(p)
	<-p.Fake.Proc.Done()
	time.Sleep(500 * time.Millisecond)
	lines := strings.SplitAfter(p.Rest(), "\n")
	if len(lines) != 303 || lines[300] != `{"jsonrpc":"2.0","id":0,"result":{}}`+"\n" {
		t.Fatalf("%d lines, the last but one %.80q", len(lines), lines[len(lines)-2])
	}
	sessiontest.IsFailure(t, lines[301], "77 -31003 call t")
	if status, _ := p.Ended(); status != 4 {
		t.Errorf("status %d", status)
	}
}

// TestPausedClientEnds: a client that does not read can end the session in every way.
func TestPausedClientEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*sessiontest.Play){
		"stdin":  func(p *sessiontest.Play) { p.In.Close() },
		"stdout": func(p *sessiontest.Play) { p.Out.Close() },
		"signal": func(p *sessiontest.Play) { p.Cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, &sessiontest.Fake{Server: "parting"}, func(s *session.Session) {
				if name == "stdin" {
					session.TimesOf(s).DrainTotal = 50 * time.Millisecond
				} else {
					session.TimesOf(s).DrainTotal = time.Hour
				}
			})
			p.Send(sessiontest.Initialize)
			sessiontest.WaitFor(p)
			<-p.Fake.Proc.Done()
			end(p)
			if status, _ := p.Ended(); status != 4 {
				t.Errorf("status %d", status)
			}
		})
	}
}
