package lifecycle

import (
	"fmt"
	"strings"
	"sync"
)

// clientLogs says whether the client wants log messages.
type clientLogs struct {
	mu     sync.Mutex
	wanted bool
	unsent [][]byte // messages from before the client asked for them
}

// maxUnsent bounds the messages that wait for a client to ask for them.
const maxUnsent = 20

// notify sends warnings to a client that asked for log messages (MCP, "Logging"). With asked
// the request that is being answered has asked for them itself.
func (c *client) notify(asked bool, warnings ...string) {
	message := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"mcp-jail","data":%s}}`+"\n", jsonString(strings.Join(warnings, "\n")))
	l := &c.logs
	l.mu.Lock()
	wanted := asked || l.wanted
	if !wanted && len(l.unsent) < maxUnsent {
		l.unsent = append(l.unsent, message)
	}
	l.mu.Unlock()
	if wanted {
		c.proxy.Client.Inject(message)
	}
}

// setLevel notes the level for which the client has asked, and returns the messages that
// have waited for that.
func (l *clientLogs) setLevel(level string) (messages [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted = includesWarnings(level); l.wanted {
		messages, l.unsent = l.unsent, nil
	}
	return messages
}
