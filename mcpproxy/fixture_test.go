package mcpproxy

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// callOf returns a tools/call of about size bytes, with escapes as in real text.
func callOf(size int) []byte {
	text := strings.Repeat(`some text of a tool, with a \"word\" and an end.\n`, size/50+1)
	head := `{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"notes.txt","content":"`
	tail := `"},"_meta":{"progressToken":3}}}` + "\n"
	text = text[:max(0, size-len(head)-len(tail))]
	return []byte(head + strings.TrimRight(text, `\`) + tail)
}

func frameOf(t testing.TB, line string) *Frame {
	t.Helper()
	f, err := NewReader(strings.NewReader(line), 0).Next()
	testkit.Must(t, err)
	return f
}

func sent(t testing.TB, f *Frame) string {
	t.Helper()
	var out bytes.Buffer
	testkit.Must(t, NewWriter(&out).Send(f))
	if kept, ok := f.AppendTo(nil); ok && string(kept) != out.String() {
		t.Errorf("kept as %q, sent as %q", kept, out.String())
	}
	return out.String()
}

// says prints the envelopes of a frame.
func says(f *Frame) string {
	out := fmt.Sprintf("junk %v batch %v flaws %b", f.NonMessage(), f.Batch, f.Flaws)
	for _, e := range f.Messages {
		for _, own := range e.Reserved {
			out += fmt.Sprintf(" own %v", *own)
		}
		e.Reserved = nil
		out += fmt.Sprintf(" %+v", e)
	}
	return out
}
