package session

import "github.com/mcp-jail/mcp-jail/diagnostics"

// Listener is a Process that knows at which TCP ports programs of its jail listen. known is false
// where that cannot be found out.
type Listener interface {
	Listening() (ports []int, known bool)
}

// listening returns the ports at which programs of the current jail listen. If that has ended, they
// are those of the last time that it was asked.
func (h *processHistory) listening() (ports []int, known bool) {
	proc := h.now()
	if l, ok := proc.(Listener); ok && !IsClosed(proc.Done()) {
		ports, known = l.Listening()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if known {
		h.listened = ports
	}
	return h.listened, h.listened != nil
}

// loginWords is a writer for the server's stderr. It sends on said when a text may be of a server that
// waits for a login.
type loginWords struct{ said chan<- struct{} }

// Write implements io.Writer.
func (w loginWords) Write(b []byte) (int, error) {
	if diagnostics.MayAwait(b) {
		select {
		case w.said <- struct{}{}:
		default:
		}
	}
	return len(b), nil
}
