package jail

import (
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
)

func ExitEvent(ws syscall.WaitStatus) spec.Event {
	if ws.Signaled() {
		return spec.Event{Kind: spec.EventExit, Num: 128 + int(ws.Signal()), Pid: int(ws.Signal())}
	}
	return spec.Event{Kind: spec.EventExit, Num: ws.ExitStatus()}
}

// reapAll reaps who has ended already, and tells whether nobody else is left in the
// jail: an orphan is the init's child, whatever signal its parent wanted (WALL).
func reapAll(t *stub.Task) bool {
	for {
		pid, err := t.Wait4(-1, nil, syscall.WNOHANG|syscall.WALL)
		switch {
		case err == syscall.ECHILD:
			return true
		case err == nil && pid == 0, err != nil && err != syscall.EINTR:
			return false
		}
	}
}
