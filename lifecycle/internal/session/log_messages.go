package session

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// clientLogs says whether the client wants log messages.
type clientLogs struct{ asking }

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

// SetLevel notes whether the level that the client has set includes warnings. If it does, SetLevel
// returns the messages that have waited for that.
func (l *clientLogs) SetLevel(level string) (messages [][]byte) {
	return l.setSession(includesWarnings(level))
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

// asking says whether the client wants log messages of the level warning.
type asking struct {
	// IsOpen reports whether a request still waits for its answer; nil: each does until Answered.
	IsOpen func(key string) bool

	mu      sync.Mutex
	session bool            // it has asked for them, for the session
	open    map[string]bool // by mcpproxy.IDKey, the requests without an answer that have asked for them
	any     atomic.Bool     // open has been set: see Answered
	unsent  [][]byte        // messages from before the client asked for them
}

const (
	maxUnsentRefusals = 20   // Asking.unsent
	maxOpen           = 1000 // Asking.open
)

// wants reports whether the client has asked for log messages that belong to no single request.
// 2026-07-28 ("Logging") knows such only for a request that asks.
func (a *asking) wants() bool {
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

// wantsOf reports whether the client has asked for log messages for the session, and whether a request
// has asked for its own.
func (a *asking) wantsOf(key string) (session, itself bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session, a.open[key]
}

// keep keeps a message until the client asks for log messages.
func (a *asking) keep(message []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.unsent) < maxUnsentRefusals {
		a.unsent = append(a.unsent, message)
	}
}

// setSession notes whether the client wants log messages for the session. If it does, setSession
// returns the messages that have waited for that.
func (a *asking) setSession(wants bool) (messages [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session = wants; wants {
		messages, a.unsent = a.unsent, nil
	}
	return messages
}

// asks notes that a request has asked for log messages.
func (a *asking) asks(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil || len(a.open) >= maxOpen { // cancelled ones may stay
		a.open = map[string]bool{}
	}
	a.open[key] = true
	a.any.Store(true)
}

// Any reports whether a request without an answer may have asked. It costs nothing.
func (a *asking) Any() bool { return a.any.Load() }

// answered notes that a request has its answer. Nothing more may be sent for it.
func (a *asking) answered(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, key)
	a.any.Store(len(a.open) > 0)
}

// refusalLog says which log messages about refusals the client is sent.
type refusalLog struct {
	mu     sync.Mutex
	told   map[string]bool // the keys of those that the client was sent, or will be sent
	unsent int             // what limit has held back
	limit  *rate.Limiter
}

const maxToldRefusals = 1000 // Log.told

// newRefusalLog returns a log that lets ten messages pass at once, and then one a second.
func newRefusalLog() *refusalLog {
	return &refusalLog{told: map[string]bool{}, limit: rate.NewLimiter(rate.Every(time.Second), 10)}
}

// text returns the text of a log message. ok is false if there should be none. sent says that it goes
// out now, and again that it does although the client had the same.
func (l *refusalLog) text(d diagnostics.Diagnosis, sent, again bool) (text string, ok bool) {
	key := d.Key()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !again && (l.told[key] || len(l.told) >= maxToldRefusals):
		return "", false
	case sent && !l.limit.Allow():
		l.unsent++
		return "", false
	}
	if !again {
		l.told[key] = true
	}
	text = d.LogText()
	if sent && l.unsent > 0 {
		text += fmt.Sprintf("\n%d more refusals before it were not sent: `mcp-jail why` has them.", l.unsent)
		l.unsent = 0
	}
	return text, true
}

// refusalQueue passes messages on to a client for a goroutine that must not wait for it.
type refusalQueue struct {
	messages chan []byte
	ended    chan struct{}
}

// newRefusalQueue returns an empty queue.
func newRefusalQueue() *refusalQueue { return &refusalQueue{make(chan []byte, 4), make(chan struct{})} }

// Push adds a message, or drops it if the client does not read.
func (q *refusalQueue) Push(message []byte) {
	select {
	case q.messages <- message:
	default:
	}
}

// Run sends the messages until End is called, and then those that were added before.
func (q *refusalQueue) Run(send func([]byte) error) {
	for {
		select {
		case m := <-q.messages:
			send(m)
		case <-q.ended:
			for {
				select {
				case m := <-q.messages:
					send(m)
				default:
					return
				}
			}
		}
	}
}

// End ends Run.
func (q *refusalQueue) End() { close(q.ended) }
