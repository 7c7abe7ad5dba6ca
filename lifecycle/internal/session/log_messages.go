package session

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// clientLogs says whether the client wants log messages of the level warning.
type clientLogs struct {
	// IsOpen reports whether a request still waits for its answer; nil: each does until NoteAnswer.
	IsOpen func(key string) bool

	mu      sync.Mutex
	session bool            // it has asked for them, for the session
	open    map[string]bool // by mcpproxy.IDKey, the requests without an answer that have asked for them
	any     atomic.Bool     // open has some
	unsent  [][]byte        // messages from before the client asked for them
}

const (
	maxUnsentLogs = 20   // clientLogs.unsent
	maxOpen       = 1000 // clientLogs.open
)

// logMessage returns a log message of mcp-jail (MCP, "Logging"). A server can name the same logger, and
// not have the member of _meta.
func logMessage(text string) []byte {
	return mcpproxy.NewNotification("notifications/message", fmt.Appendf(nil, `{"level":"warning","logger":"mcp-jail","data":%s,"_meta":{"dev.mcp-jail/warning":true}}`, JSONString(text)))
}

// notify sends warnings to a client that asked for log messages. For another client it keeps some of
// them until the client sends logging/setLevel. asked says that the request that is being answered has
// asked for log messages.
func (c *Client) notify(asked bool, warnings ...string) {
	message := logMessage(strings.Join(warnings, "\n"))
	if asked || c.Logs.wants() {
		c.Proxy.Client.Inject(message)
		return
	}
	c.Logs.keep(message)
}

// NoteRequest notes whether a modern request asks for log messages.
func (l *clientLogs) NoteRequest(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if e.Version == nil || !e.Trackable() {
		return
	}
	if meta := f.Slice(e.ParamsMeta); bytes.Contains(meta, []byte("logLevel")) && ModernRequest("", meta).Logs {
		l.asks(mcpproxy.IDKey(e.ID))
	}
}

// NoteAnswer notes that a request has its answer.
func (l *clientLogs) NoteAnswer(id []byte) {
	if l.Any() {
		l.answered(mcpproxy.IDKey(id))
	}
}

// wants reports whether the client has asked for log messages that belong to no single request.
// 2026-07-28 ("Logging") knows such only for a request that asks.
func (l *clientLogs) wants() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.open {
		if l.session || l.IsOpen == nil || l.IsOpen(key) {
			break
		}
		delete(l.open, key) // it was cancelled
	}
	return l.session || len(l.open) > 0
}

// keep keeps a message until the client asks for log messages.
func (l *clientLogs) keep(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unsent) < maxUnsentLogs {
		l.unsent = append(l.unsent, message)
	}
}

// SetLevel notes whether the level that the client has set includes warnings. If it does, SetLevel
// returns the messages that have waited for that.
func (l *clientLogs) SetLevel(level string) (messages [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session = includesWarnings(level); l.session {
		messages, l.unsent = l.unsent, nil
	}
	return messages
}

// asks notes that a request has asked for log messages.
func (l *clientLogs) asks(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil || len(l.open) >= maxOpen { // cancelled ones may stay
		l.open = map[string]bool{}
	}
	l.open[key] = true
	l.any.Store(true)
}

// Any reports whether a request without an answer may have asked. It costs nothing.
func (l *clientLogs) Any() bool { return l.any.Load() }

// answered notes that a request has its answer. Nothing more may be sent for it.
func (l *clientLogs) answered(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, key)
	l.any.Store(len(l.open) > 0)
}
