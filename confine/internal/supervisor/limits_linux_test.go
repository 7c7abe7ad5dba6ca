package supervisor

import (
	"io"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestEventQueueDoesNotBlock checks that a full pipe does not block the sampler, and that the
// events are sent when there is room again.
func TestEventQueueDoesNotBlock(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	defer w.Close()
	size := testkit.Get(unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0))(t)
	testkit.Must(t, testkit.ErrorOf(w.Write(make([]byte, size))))
	to := eventWriter{w}
	var late eventQueue
	for range 2 * maxQueued {
		late.add(to, spec.Event{Kind: spec.EventLimit, Step: spec.KeyMemory})
	}
	testkit.Equal(t, "events are queued", len(late), maxQueued)
	testkit.Must(t, testkit.ErrorOf(io.ReadFull(r, make([]byte, size))))
	late.flush(to)
	b := make([]byte, size)
	n, err := r.Read(b)
	if err != nil || len(late) != 0 {
		t.Fatalf("%d events are queued after flush: %v", len(late), err)
	}
	sent := 0
	for rest := b[:n]; len(rest) > 0; sent++ {
		if _, rest, err = spec.NextEvent(rest); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Equal(t, "events were sent", sent, maxQueued)
}
