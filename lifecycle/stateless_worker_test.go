//go:build unix

package lifecycle

import (
	"strings"
	"testing"
)

// TestWorkerClosesStdout: a worker that has closed its stdout can answer nothing, and its
// call fails.
func TestWorkerClosesStdout(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, atMost(1))
	p.greet()
	p.send(callOf("1", "mute", "{}"), callOf("2", "echo", "{}"))
	if got := failureOf(t, p.answer("1").line).String(); !strings.HasSuffix(got, "call mute") {
		t.Error(got)
	}
	has(t, p.answer("2").line, "tool=echo")
	has(t, p.nothing(), "has closed its stdout")
}

// TestWorkerAsksWithoutReading: a worker that sends requests and reads no answers is
// killed, and its slot is free again.
func TestWorkerAsksWithoutReading(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(tool string, _ int) string {
		if tool == "never" {
			return "stuff"
		}
		return ""
	}
	p := beginStateless(t, f, atMost(1))
	p.greet()
	p.send(callOf("1", "never", "{}"), callOf("2", "echo", "{}"))
	a := p.answer("1")
	if a.Error == nil || strings.Contains(a.line, "memory_mb") {
		t.Error(a.line)
	}
	has(t, a.line, "ended by mcp-jail: it did not read the answers")
	has(t, p.answer("2").line, "tool=echo")
	has(t, p.nothing(), `tool "never" does not read the answers to its requests; it was ended`)
}

// TestNoLineEnd: a last line without a newline reaches a worker that waits for one, and
// the worker's last answer reaches the client.
func TestNoLineEnd(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.servers["last"] = "unended"
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "last", "{}"))
	p.answer("1") // which is read as a line
	p.send(callOf("2", "echo", "{}"))
	p.answer("2")
	p.in.WriteString(callOf("3", "echo", "{}"))
	p.in.Close()
	has(t, p.answer("3").line, "tool=echo")
	p.nothing()
}
