package confine

import (
	"os"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

// keptTimeout is how long KeepOpen waits, so that a filesystem that hangs stops no relay.
const keptTimeout = 5 * time.Second

// keptRequests counts the requests of KeepOpen to the supervisor, and its answers.
type keptRequests struct {
	mu      sync.Mutex
	answers chan struct{}
	open    int // requests without an answer: one at most
}

// KeepOpen has the supervisor keep the files again that the program has open for writing, and waits
// for it. The caller has written the beginning of the call to the journal of Launcher.Kept. The error is
// os.ErrDeadlineExceeded if the supervisor takes too long.
func (p *Process) KeepOpen() error {
	k := &p.keeping
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.open > 0 { // an earlier one came too late: while it has no answer, a filesystem hangs
		select {
		case <-k.answers:
			k.open--
		default:
			return os.ErrDeadlineExceeded
		}
	}
	if _, err := p.control.Write([]byte{spec.RequestKeep}); err != nil {
		return err
	}
	late := time.NewTimer(keptTimeout)
	defer late.Stop()
	k.open++
	select {
	case <-k.answers:
		k.open--
		return nil
	case <-p.done:
		return os.ErrProcessDone
	case <-late.C:
		return os.ErrDeadlineExceeded
	}
}
