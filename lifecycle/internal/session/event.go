package session

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
)

// Event is something that happens once. done is closed when it has happened.
type Event struct {
	once sync.Once
	Done chan struct{}
}

func (e *Event) Set() {
	e.once.Do(func() { close(e.Done) })
}

func (e *Event) IsSet() bool { return IsClosed(e.Done) }

// IsClosed reports whether c is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// onceTime is a time that is set once.
type onceTime struct{ at atomic.Pointer[time.Time] }

func (m *onceTime) Set() {
	if m.at.Load() == nil {
		now := time.Now()
		m.at.CompareAndSwap(nil, &now)
	}
}

// ExitText describes an exit in a message.
func ExitText(e confine.Exit) string {
	if e.Signal != 0 {
		return "signal " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Exit statuses for a session whose server gives none (docs/reference.md, "Exit
// statuses").
const (
	StatusFailed = 1 // the server failed
	statusJail   = 3 // no jail could be built that enforces the policy
)

// EndedBy returns the exit of a session that a signal has ended, with the status that a
// shell gives it.
func EndedBy(s os.Signal) confine.Exit {
	if n, ok := s.(syscall.Signal); ok {
		return confine.Exit{Code: 128 + int(n), Signal: n}
	}
	return confine.Exit{Code: StatusFailed}
}
