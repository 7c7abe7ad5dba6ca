package confine

import (
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAsk: each request waits for its own answer, and not for that of one that was given up.
func TestAsk(t *testing.T) {
	asked, supervisor, err := os.Pipe()
	testkit.Must(t, err)
	defer asked.Close()
	defer supervisor.Close()
	a, done := newHeldAnswers(), make(chan struct{})
	a.open = 1
	var request [1]byte
	answered := make(chan bool, 1)
	a.Note() // the late answer
	go func() {
		asked.Read(request[:])
		answered <- true
		a.Note()
	}()
	testkit.Must(t, a.Ask(supervisor, 'k', done))
	if len(answered) == 0 || request[0] != 'k' {
		t.Errorf("it did not wait for the answer to its request (%#x)", request)
	}
	close(done)
	testkit.Is(t, "after the end", a.Ask(supervisor, 'k', done), os.ErrProcessDone)
}
