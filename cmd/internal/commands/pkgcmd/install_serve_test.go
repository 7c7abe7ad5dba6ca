package pkgcmd

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/packages/install"
)

// TestBackground tests that an installation without a client is given more time where it makes
// progress, and that none is timed while it has a client.
func TestBackground(t *testing.T) {
	b := &background{end: func() { t.Error("it has ended") }}
	b.progress(install.Progress{Bytes: 1})
	if b.idle != nil || b.total != nil {
		t.Error("a timer runs while there is a client")
	}
	b.left()
	if !b.idle.Stop() || !b.total.Stop() {
		t.Error("no timer runs without a client")
	}
	for _, p := range []install.Progress{{Bytes: 1}, {Bytes: 2}, {Bytes: 2}} {
		moved := p != b.last
		b.idle.Stop()
		b.progress(p)
		if running := b.idle.Stop(); running != moved {
			t.Errorf("%+v: the timer runs %v, want %v", p, running, moved)
		}
	}
}
