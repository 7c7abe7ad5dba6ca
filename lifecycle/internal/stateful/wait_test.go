package stateful

import (
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
)

type signalled struct {
	session.Process
	done chan struct{}
	n    int
}

func (p *signalled) Done() <-chan struct{} { return p.done }

func (p *signalled) Signal(os.Signal) error {
	p.n++
	return nil
}

// TestTerminateEnded: a server that has just ended by itself does not count as one that was ended.
func TestTerminateEnded(t *testing.T) {
	for _, ended := range []bool{false, true} {
		p := &signalled{done: make(chan struct{})}
		if ended {
			close(p.done)
		}
		w := processWait{session: &statefulSession{client: &session.Client{}}, proc: p}
		if w.terminate(); w.cause.killed == ended || (p.n == 0) != ended || (w.kill == nil) != ended {
			t.Errorf("ended %v: %+v, %d signals", ended, w.cause, p.n)
		}
	}
}
