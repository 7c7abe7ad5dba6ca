package session

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/refusals"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// clientLogs says whether the client wants log messages.
type clientLogs struct{ refusals.Asking }

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
	if asked || c.Logs.Wants() {
		c.Proxy.Client.Inject(message)
		return
	}
	c.Logs.Keep(message)
}

// SetLevel notes whether the level that the client has set includes warnings. If it does, SetLevel
// returns the messages that have waited for that.
func (l *clientLogs) SetLevel(level string) (messages [][]byte) {
	return l.SetSession(includesWarnings(level))
}

// NoteRequest notes whether a modern request asks for log messages.
func (l *clientLogs) NoteRequest(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if e.Version == nil || !e.Trackable() {
		return
	}
	if meta := f.Slice(e.ParamsMeta); bytes.Contains(meta, []byte("logLevel")) && ModernRequest("", meta).Logs {
		l.Asks(mcpproxy.IDKey(e.ID))
	}
}

// NoteAnswer notes that a request has its answer.
func (l *clientLogs) NoteAnswer(id []byte) {
	if l.Any() {
		l.Answered(mcpproxy.IDKey(id))
	}
}
