package session

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// clientLogs says whether the client wants log messages.
type clientLogs struct {
	mu     sync.Mutex
	wanted bool     // it has asked for them, for the session
	modern bool     // its last request has asked for them
	unsent [][]byte // messages from before the client asked for them
}

// maxUnsent bounds the messages that wait for a client to ask for them.
const maxUnsent = 20

// notify sends warnings to a client that asked for log messages (MCP, "Logging"). For another
// client it keeps at most maxUnsent of them until the client sends logging/setLevel. asked says
// that the request that is being answered has asked for log messages. A server can name the same
// logger, and not have the member of _meta.
func (c *Client) notify(asked bool, warnings ...string) {
	message := mcpproxy.NewNotification("notifications/message", fmt.Appendf(nil, `{"level":"warning","logger":"mcp-jail","data":%s,"_meta":{"dev.mcp-jail/warning":true}}`, JSONString(strings.Join(warnings, "\n"))))
	l := &c.Logs
	l.mu.Lock()
	wanted := asked || l.wanted || l.modern
	if !wanted && len(l.unsent) < maxUnsent {
		l.unsent = append(l.unsent, message)
	}
	l.mu.Unlock()
	if wanted {
		c.Proxy.Client.Inject(message)
	}
}

// SetLevel notes whether the level that the client has set includes warnings. If it does, SetLevel
// returns the messages that have waited for that.
func (l *clientLogs) SetLevel(level string) (messages [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted = includesWarnings(level); l.wanted {
		messages, l.unsent = l.unsent, nil
	}
	return messages
}

// NoteRequest notes whether a modern request asks for log messages.
func (l *clientLogs) NoteRequest(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if e.Era() != mcpproxy.Modern {
		return
	}
	meta := f.Slice(e.ParamsMeta)
	asks := bytes.Contains(meta, []byte("logLevel")) && ModernRequest("", meta).Logs
	l.mu.Lock()
	l.modern = asks
	l.mu.Unlock()
}
