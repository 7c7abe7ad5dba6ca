//go:build unix

package lifecycle_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
	"github.com/mcp-jail/mcp-jail/policy"
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

// TestClientNamed tests that what the client calls itself last is told once, in both eras and in
// both kinds of sessions, and nothing if the client does not say it.
func TestClientNamed(t *testing.T) {
	t.Parallel()
	hello := func(params string) string { return sessiontest.Legacy("1", "initialize", params) }
	for _, c := range []struct {
		name string
		send []string
		want string
	}{
		{"legacy", []string{hello(`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"code","version":"2.1"}}`), sessiontest.Legacy("2", "tools/list", "{}")}, "code 2.1"},
		{"modern", []string{sessiontest.ModernBy("cl", "1", "tools/list", ""), sessiontest.ModernBy("other", "2", "tools/list", "")}, "other "},
		{"two handshakes", []string{hello(`{"clientInfo":{"name":"a"}}`), strings.Replace(hello(`{"clientInfo":{"name":"b"}}`), `"id":1`, `"id":2`, 1)}, "b "},
		{"no name", []string{hello(`{"capabilities":{}}`)}, ""},
		{"another type", []string{hello(`{"clientInfo":7}`)}, ""},
		{"too long", []string{hello(`{"clientInfo":{"name":"` + strings.Repeat("x", session.MaxIntroduction) + `"}}`)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var told []string
			named := func(name, version string) { told = append(told, name+" "+version) }
			p := begin(t, &sessiontest.Fake{Server: "polite"}, func(s *session.Session) { s.ClientNamed = named })
			for _, line := range c.send {
				p.Send(line)
				p.Line()
			}
			p.Close()
			if got := strings.Join(told, ", "); got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
	t.Run("stateless", func(t *testing.T) {
		t.Parallel()
		var told []string
		p := beginStateless(t, sessiontest.NewShop(), func(s *session.Session, _ *stateless.Options) {
			s.ClientNamed = func(name, version string) { told = append(told, name+" "+version) }
		})
		p.Greet()
		p.Ask(sessiontest.Legacy("1", "tools/list", "{}"))
		p.Close()
		if got := strings.Join(told, ", "); got != "c 1" {
			t.Errorf("told %q", got)
		}
	})
}

// TestRecordBeforeCommand: an answer that names a command which reads the record comes after the record. A disk that is
// stuck does not keep it for long.
func TestRecordBeforeCommand(t *testing.T) {
	t.Parallel()
	for name, stuck := range map[string]bool{"slow": false, "stuck": true} {
		var kept atomic.Bool
		free := make(chan struct{})
		p := begin(t, &sessiontest.Fake{Server: "failing", Denials: []policy.Denial{refusedFile}}, func(s *session.Session) {
			s.Sink = func(r diagnostics.Record) {
				if stuck {
					<-free
				}
				time.Sleep(20 * time.Millisecond)
				if len(r.Diagnoses) > 0 {
					kept.Store(true)
				}
			}
		})
		p.Send(sessiontest.CallLine)
		sessiontest.Has(t, p.Line(), "mcp-jail grant test --last")
		if kept.Load() == stuck {
			t.Errorf("%s: the record was written before the answer: %v", name, !stuck)
		}
		close(free)
		p.Close()
	}
}

// TestSlowRecord: a Sink that is slow delays neither the answer to a failed call that names no command nor the answers
// after it.
func TestSlowRecord(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	var records []int
	p := begin(t, &sessiontest.Fake{Server: "failing"}, func(s *session.Session) {
		s.Sink = func(r diagnostics.Record) {
			<-free
			records = append(records, len(r.Diagnoses))
		}
	})
	for range 3 {
		p.Send(sessiontest.CallLine)
		sessiontest.Has(t, p.Line(), "[mcp-jail]")
	}
	close(free)
	p.Close()
	if n := len(records); n == 0 || records[n-1] != 3 {
		t.Errorf("records of %v diagnoses", records)
	}
}

// TestLostRecord: a record that cannot be kept is reported once, however often it is
// tried.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	tried, kept := 0, make(chan struct{}, 8)
	p := begin(t, &sessiontest.Fake{Server: "failing"}, func(s *session.Session) {
		s.Sink = func(diagnostics.Record) { tried++ }
		s.Lost = func() error {
			kept <- struct{}{}
			if tried == 1 {
				return nil
			}
			return errors.New("no space left")
		}
	})
	for range 2 {
		p.Send(sessiontest.CallLine)
		p.Line()
		<-kept
	}
	_, stderr, _ := p.Close()
	if n := strings.Count(stderr, "mcp-jail: warning: the record of this session cannot be written, so `mcp-jail why` will not have all of it: no space left (mcp-jail help record)\n"); n != 1 || tried < 3 {
		t.Errorf("told %d times of %d: %s", n, tried, stderr)
	}
}

// TestRefusalsOnRecord: a refusal is on record while the session runs, and only the last record says
// that the session has ended.
func TestRefusalsOnRecord(t *testing.T) {
	t.Parallel()
	for name, denials := range map[string][]policy.Denial{
		"refused": {{Axis: policy.AxisFs, Operation: "open", Target: "/x", Count: 1}}, "control": nil,
	} {
		records := make(chan diagnostics.Record, 8)
		p := begin(t, &sessiontest.Fake{Server: "polite", Denials: denials}, func(s *session.Session) { s.Sink = func(r diagnostics.Record) { records <- r } })
		if denials != nil {
			if r := <-records; len(r.Denials) != 1 || !r.Unfinished {
				t.Errorf("%s: recorded %+v", name, r)
			}
		}
		p.Close()
		if r := <-records; len(r.Denials) != len(denials) || r.Unfinished || len(records) > 0 {
			t.Errorf("%s: at the end, recorded %+v, and %d more", name, r, len(records))
		}
	}
}

// TestRecordedDenials: control characters that a server puts into names do not reach the
// record.
func TestRecordedDenials(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdef"
	denial := policy.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/" + secret, Program: "/home/" + secret, Count: 1}
	p := begin(t, &sessiontest.Fake{Server: "polite", Denials: []policy.Denial{denial}}, func(s *session.Session) {
		s.Profile.Env = []policy.Variable{{Name: "TOKEN", Value: secret, Secret: true}}
	})
	p.Send(sessiontest.CallLine)
	p.Line()
	p.Close()
	for _, d := range p.Record.Denials {
		if d.Target != "/[redacted TOKEN]" || d.Program != "/home/[redacted TOKEN]" {
			t.Errorf("recorded: %+v", d)
		}
	}
	if b, err := p.Record.Encode(); err != nil || len(p.Record.Denials) != 1 || strings.Contains(string(b), secret) {
		t.Errorf("%v: %s", err, b)
	}
}
