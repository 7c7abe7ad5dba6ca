//go:build !seatbelt

package confine

import (
	"errors"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

// TestKeepOpen: each request waits for its own answer, and not for that of one that was given up.
func TestKeepOpen(t *testing.T) {
	asked, control, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	defer control.Close()
	p := &Process{control: control, done: make(chan struct{}), keeping: requests{answers: make(chan struct{}, 4), open: 1}}
	var request [1]byte
	answered := make(chan bool, 1)
	p.handleEvent(spec.Event{Kind: spec.EventKept}) // the late answer
	go func() {
		asked.Read(request[:])
		answered <- true
		p.handleEvent(spec.Event{Kind: spec.EventKept})
	}()
	if err := p.KeepOpen(); err != nil {
		t.Fatal(err)
	}
	if len(answered) == 0 || request[0] != spec.RequestKeep {
		t.Errorf("it did not wait for the answer to its request (%#x)", request)
	}
	close(p.done)
	if err := p.KeepOpen(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("after the end: %v", err)
	}
}
