package mcpproxy

import (
	"bytes"
	"strings"
	"testing"
)

// TestReplay checks that recorded frames are written unchanged between two frames.
func TestReplay(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Send(frameOf(t, "{}"))
	w.Replay([]byte("{\"a\":1}\r\n{}"))
	w.Replay(nil)
	w.Inject([]byte("[]"))
	if out.String() != "{}\n{\"a\":1}\r\n{}\n[]\n" {
		t.Errorf("got %q", out.String())
	}
}

// TestInjectBehindASpill injects after a last frame without a line end that is too large
// for memory.
func TestInjectBehindASpill(t *testing.T) {
	last := `{"id":1,"result":"` + strings.Repeat("x", maxInMemory) + `"}`
	for in, want := range map[string]string{last: last + "\n[]\n", last + "\n": last + "\n[]\n"} {
		var out bytes.Buffer
		w := NewWriter(&out)
		f, _ := NewReader(strings.NewReader(in), 0).Next()
		w.Send(f)
		w.Inject([]byte("[]"))
		if out.String() != want {
			t.Errorf("got %d bytes that end with %q, want %d", out.Len(), out.String()[out.Len()-10:], len(want))
		}
	}
}

func TestSendGone(t *testing.T) {
	f, _ := NewReader(strings.NewReader(`{"id":1}`+"\n{}\n"), 5).Next()
	var out bytes.Buffer
	w := NewWriter(&out)
	if err := w.Send(f); err != ErrGone {
		t.Errorf("an oversized frame is sent with %v", err)
	}
	if w.Send(Parse([]byte("{}\n"))) != nil || out.String() != "{}\n" {
		t.Errorf("after it %q is sent", out.String())
	}
}
