package refusals

import (
	"sync"
	"sync/atomic"
)

// Asking says whether the client wants log messages of the level warning.
type Asking struct {
	// IsOpen reports whether a request still waits for its answer; nil: each does until Answered.
	IsOpen func(key string) bool

	mu      sync.Mutex
	session bool            // it has asked for them, for the session
	open    map[string]bool // by mcpproxy.IDKey, the requests without an answer that have asked for them
	any     atomic.Bool     // open has been set: see Answered
	unsent  [][]byte        // messages from before the client asked for them
}

const (
	maxUnsent = 20   // Asking.unsent
	maxOpen   = 1000 // Asking.open
)

// Wants reports whether the client has asked for log messages that belong to no single request.
// 2026-07-28 ("Logging") knows such only for a request that asks.
func (a *Asking) Wants() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.open {
		if a.session || a.IsOpen == nil || a.IsOpen(key) {
			break
		}
		delete(a.open, key) // it was cancelled
	}
	return a.session || len(a.open) > 0
}

// WantsOf reports whether the client has asked for log messages for the session, and whether a request
// has asked for its own.
func (a *Asking) WantsOf(key string) (session, itself bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session, a.open[key]
}

// Keep keeps a message until the client asks for log messages.
func (a *Asking) Keep(message []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.unsent) < maxUnsent {
		a.unsent = append(a.unsent, message)
	}
}

// SetSession notes whether the client wants log messages for the session. If it does, SetSession
// returns the messages that have waited for that.
func (a *Asking) SetSession(wants bool) (messages [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session = wants; wants {
		messages, a.unsent = a.unsent, nil
	}
	return messages
}

// Asks notes that a request has asked for log messages.
func (a *Asking) Asks(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil || len(a.open) >= maxOpen { // cancelled ones may stay
		a.open = map[string]bool{}
	}
	a.open[key] = true
	a.any.Store(true)
}

// Any reports whether a request without an answer may have asked. It costs nothing.
func (a *Asking) Any() bool { return a.any.Load() }

// Answered notes that a request has its answer. Nothing more may be sent for it.
func (a *Asking) Answered(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, key)
	a.any.Store(len(a.open) > 0)
}
