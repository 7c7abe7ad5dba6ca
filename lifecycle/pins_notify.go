package lifecycle

import (
	"fmt"
	"strings"
)

// clientLogs says whether the client wants log messages. The mutex of toolCheck guards it.
type clientLogs struct {
	wanted bool
	unsent [][]byte // messages from before the client asked for them
}

// maxUnsent bounds the messages that wait for a client to ask for them.
const maxUnsent = 20

// notify sends warnings to a client that asked for log messages (MCP, "Logging").
func (c *toolCheck) notify(asked listRequest, warnings []string) {
	message := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"mcp-jail","data":%s}}`+"\n", jsonString(strings.Join(warnings, "\n")))
	c.mu.Lock()
	wanted := asked.logs || c.logs.wanted
	if !wanted && len(c.logs.unsent) < maxUnsent {
		c.logs.unsent = append(c.logs.unsent, message)
	}
	c.mu.Unlock()
	if wanted {
		c.client.proxy.Client.Inject(message)
	}
}

// setLevel notes the level for which the client has asked, and returns the messages that
// have waited for that.
func (c *toolCheck) setLevel(level string) (messages [][]byte) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs.wanted = includesWarnings(level); c.logs.wanted {
		messages, c.logs.unsent = c.logs.unsent, nil
	}
	return messages
}
