package supervisor

import (
	"io"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"golang.org/x/sys/unix"
)

// TestUnsaid: where nobody hears, nobody waits, and it is said later.
func TestUnsaid(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	s := &Process{status: w}
	s.Send = s.sendEvent
	var late eventQueue
	for range 2 * maxQueued {
		late.add(s, spec.Event{Kind: spec.EventLimit, Step: spec.KeyMemory})
	}
	if len(late) != maxQueued {
		t.Errorf("%d wait", len(late))
	}
	if _, err := io.ReadFull(r, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	late.flush(s)
	b := make([]byte, size)
	n, err := r.Read(b)
	if err != nil || len(late) != 0 {
		t.Fatalf("%d wait: %v", len(late), err)
	}
	said := 0
	for rest := b[:n]; len(rest) > 0; said++ {
		if _, rest, err = spec.NextEvent(rest); err != nil {
			t.Fatal(err)
		}
	}
	if said != maxQueued {
		t.Errorf("%d were said", said)
	}
}
