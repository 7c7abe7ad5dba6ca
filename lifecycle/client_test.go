//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"
)

// TestClientPauses: a client that does not read for longer than the draining takes gets
// everything, as it would without us.
func TestClientPauses(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "parting"}, func(s *Session) { s.times.drainTotal = 50 * time.Millisecond })
	p.send(initialize, `{"id":77,"method":"tools/call","params":{"name":"t"}}`)
	waitFor(p)
	<-p.fake.proc.done
	time.Sleep(500 * time.Millisecond)
	lines := strings.SplitAfter(p.rest(), "\n")
	if len(lines) != 303 || lines[300] != `{"jsonrpc":"2.0","id":0,"result":{}}`+"\n" {
		t.Fatalf("%d lines, the last but one %.80q", len(lines), lines[len(lines)-2])
	}
	if got := failureOf(t, lines[301]).String(); got != "77 -31003 call t" {
		t.Errorf("got %s", got)
	}
	if status, _ := p.ended(); status != 4 {
		t.Errorf("status %d", status)
	}
}

// TestPausedClientEnds: a client that does not read can end the session in every way.
func TestPausedClientEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*play){
		"stdin":  func(p *play) { p.in.Close() },
		"stdout": func(p *play) { p.out.Close() },
		"signal": func(p *play) { p.cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, &fake{server: "parting"}, func(s *Session) {
				if name == "stdin" {
					s.times.drainTotal = 50 * time.Millisecond
				} else {
					s.times.drainTotal = time.Hour
				}
			})
			p.send(initialize)
			waitFor(p)
			<-p.fake.proc.done
			end(p)
			if status, _ := p.ended(); status != 4 {
				t.Errorf("status %d", status)
			}
		})
	}
}
