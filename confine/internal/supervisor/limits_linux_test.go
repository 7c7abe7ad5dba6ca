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
	s := &Shim{status: w}
	s.Say = s.tell
	var late unsaid
	for range 2 * mostUnsaid {
		late.say(s, spec.Message{Kind: spec.SaysLimit, Step: spec.KeyMemory})
	}
	if len(late) != mostUnsaid {
		t.Errorf("%d wait", len(late))
	}
	if _, err := io.ReadFull(r, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	late.tell(s)
	b := make([]byte, size)
	n, err := r.Read(b)
	if err != nil || len(late) != 0 {
		t.Fatalf("%d wait: %v", len(late), err)
	}
	said := 0
	for rest := b[:n]; len(rest) > 0; said++ {
		if _, rest, err = spec.NextMessage(rest); err != nil {
			t.Fatal(err)
		}
	}
	if said != mostUnsaid {
		t.Errorf("%d were said", said)
	}
}
