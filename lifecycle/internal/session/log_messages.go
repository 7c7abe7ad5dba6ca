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
	// Open reports whether a request without an answer has asked for them: see AsksForLogs.
	Open func() bool
	// Answered says that the request has asked for them whose answer is on its way.
	Answered atomic.Bool

	mu      sync.Mutex
	session bool     // it has asked for them, for the session
	unsent  [][]byte // messages from before the client asked for them
}

const maxUnsentLogs = 20 // clientLogs.unsent

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

// AsksForLogs reports whether a modern request asks for log messages until its answer.
func AsksForLogs(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	meta := f.Slice(e.ParamsMeta)
	return e.Version != nil && e.Trackable() && bytes.Contains(meta, []byte("logLevel")) && ModernRequest("", meta).Logs
}

// wants reports whether the client has asked for log messages that belong to no single request.
// 2026-07-28 ("Logging") knows such only for a request that asks.
func (l *clientLogs) wants() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session || l.Answered.Load() || l.Open()
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
