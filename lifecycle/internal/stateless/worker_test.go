//go:build unix

package stateless

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestWorkerClosesStdout: a worker that has closed its stdout can answer nothing, and its
// call fails.
func TestWorkerClosesStdout(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, atMost(1))
	p.Send(sessiontest.CallOf("1", "mute", "{}"), sessiontest.CallOf("2", "echo", "{}"))
	sessiontest.IsFailure(t, p.Answer("1").Line, "call mute")
	sessiontest.Has(t, p.Answer("2").Line, "tool=echo")
	sessiontest.Has(t, p.Nothing(), "has closed its stdout")
}

// TestWorkerAsksWithoutReading: a worker that sends requests and reads no answers is
// killed, and its slot is free again.
func TestWorkerAsksWithoutReading(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(tool string, _ int) string {
		if tool == "never" {
			return "stuff"
		}
		return ""
	}
	p := beginStateless(t, f, atMost(1))
	p.Greet()
	p.Send(sessiontest.CallOf("1", "never", "{}"), sessiontest.CallOf("2", "echo", "{}"))
	a := p.Answer("1")
	if a.Error == nil || strings.Contains(a.Line, "memory_mb") {
		t.Error(a.Line)
	}
	sessiontest.Has(t, a.Line, "ended by mcp-jail: it did not read the answers")
	sessiontest.Has(t, p.Answer("2").Line, "tool=echo")
	sessiontest.Has(t, p.Nothing(), `tool "never" does not read the answers to its requests; it was ended`)
}

// TestNoLineEnd: a last line without a newline reaches a worker that waits for one, and
// the worker's last answer reaches the client.
func TestNoLineEnd(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Servers["last"] = "unended"
	p := beginStateless(t, f, nil)
	p.Greet()
	p.Send(sessiontest.CallOf("1", "last", "{}"))
	p.Answer("1") // which is read as a line
	p.Ask(sessiontest.CallOf("2", "echo", "{}"))
	p.In.WriteString(sessiontest.CallOf("3", "echo", "{}"))
	p.In.Close()
	sessiontest.Has(t, p.Answer("3").Line, "tool=echo")
	p.Nothing()
}

// TestWorkerThatDoesNotRead: a worker that reads nothing delays no other, and its call can
// be cancelled.
func TestWorkerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "deaf", "{}"))
	sessiontest.Eventually(t, "it has begun", func() bool { return strings.Contains(f.Saw("deaf", 0), "deaf\n") })
	for range 3 {
		p.Send(`{"jsonrpc":"2.0","method":"notifications/x","params":"` + strings.Repeat("x", 3<<20) + `"}`)
	}
	p.Ask(sessiontest.CallOf("2", "echo", "{}"))
	p.Send(cancel("1"), sessiontest.Legacy("3", "ping", "{}"))
	p.Answer("3")
	f.Of("deaf")[0].Ended(t)
	p.Nothing()
}
