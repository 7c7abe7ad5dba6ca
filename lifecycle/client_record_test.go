//go:build unix

package lifecycle

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSlowRecord: a Sink that is slow delays neither the answer to a failed call nor the
// answers after it.
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
