package reported

import (
	"os"
	"sync"
	"time"
)

// answerTimeout is how long Ask waits, so that a filesystem that hangs does not stop a relay for good.
const answerTimeout = 30 * time.Second

// Answers counts the requests of one kind to a supervisor, and its answers.
type Answers struct {
	mu   sync.Mutex
	came chan struct{}
	open int // requests without an answer: one at most
}

// NewAnswers returns a count of none.
func NewAnswers() *Answers { return &Answers{came: make(chan struct{}, 64)} }

// Note notes an answer.
func (a *Answers) Note() {
	select {
	case a.came <- struct{}{}:
	default: // Ask has stopped waiting
	}
}

// Ask sends a request to a supervisor and waits for its answer. done is closed when its jail has ended. The error
// is os.ErrDeadlineExceeded if the supervisor takes too long.
func (a *Answers) Ask(supervisor *os.File, request byte, done <-chan struct{}) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.open > 0 { // an earlier one came too late: while it has no answer, a filesystem hangs
		select {
		case <-a.came:
			a.open--
		default:
			return os.ErrDeadlineExceeded
		}
	}
	if _, err := supervisor.Write([]byte{request}); err != nil {
		return err
	}
	late := time.NewTimer(answerTimeout)
	defer late.Stop()
	a.open++
	select {
	case <-a.came:
		a.open--
		return nil
	case <-done:
		return os.ErrProcessDone
	case <-late.C:
		return os.ErrDeadlineExceeded
	}
}
