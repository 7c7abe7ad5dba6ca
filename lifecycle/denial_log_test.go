//go:build unix

package lifecycle

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

var logged = policy.Denial{Axis: policy.AxisFs, Operation: "read", Target: "/secret/file", Program: "cat", Count: 1}

// TestDenialLogBesides: the log of the system is asked after a call whose answer smells of a refusal,
// while other messages go on. What it has is in the record, as certain.
func TestDenialLogBesides(t *testing.T) {
	t.Parallel()
	fake := &sessiontest.Fake{Server: "failing", Log: []policy.Denial{logged}, Hold: make(chan struct{})}
	p := begin(t, fake, nil)
	p.Send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, sessiontest.CallLine)
	p.Line()
	if first := p.Line(); !strings.Contains(first, "EACCES") {
		t.Errorf("got %s", first)
	}
	// The log has not answered. Neither other messages nor another failure wait for it.
	p.Send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, strings.Replace(sessiontest.CallLine, `"id":1`, `"id":3`, 1))
	p.Line()
	p.Line()
	close(fake.Hold)
	p.In.Close()
	p.Rest()
	p.Ended()
	if n := len(fake.Asked); n != 1 {
		t.Errorf("the log was asked %d times", n)
	}
	if len(p.Record.Denials) != 1 || p.Record.Denials[0].Target != "/secret/file" {
		t.Errorf("recorded: %+v", p.Record.Denials)
	}
}

// TestDenialLogUnasked: nothing is asked where nothing smells of a refusal.
func TestDenialLogUnasked(t *testing.T) {
	t.Parallel()
	fake := &sessiontest.Fake{Server: "polite", Log: []policy.Denial{logged}}
	p := begin(t, fake, nil)
	p.Send(sessiontest.CallLine)
	p.Line()
	p.In.Close()
	p.Rest()
	p.Ended()
	if len(fake.Asked) != 0 || len(p.Record.Denials) != 0 {
		t.Errorf("asked at %v, recorded %+v", fake.Asked, p.Record.Denials)
	}
}

// TestDenialLogEnd: a server that ends is asked about before the client is told, so that the cause is
// certain.
func TestDenialLogEnd(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"crash", "crash-late"} {
		fake := &sessiontest.Fake{Server: server, Log: []policy.Denial{logged}}
		p := begin(t, fake, nil)
		p.Send(sessiontest.CallLine)
		if answer := p.Line(); !strings.Contains(answer, `"attribution":"certain"`) || !strings.Contains(answer, "/secret/file") {
			t.Errorf("%s: %s", server, answer)
		}
		p.In.Close()
		p.Rest()
		p.Ended()
		if len(fake.Asked) == 0 {
			t.Errorf("%s: the log was not asked", server)
		}
	}
}
