package lifecycle

import "github.com/mcp-jail/mcp-jail/mcpproxy"

// tellMax bounds what waits for a server to read it.
const tellMax = 1 << 20

// tell sends a server a message of ours and does not wait for it: the server may
// not be reading before we have read on, and of one that hangs the other calls
// have to time out. One that reads nothing loses what is beyond tellMax. The
// caller is a task.
func (i *instance) tell(server *mcpproxy.Conn, line []byte) {
	n := int64(len(line))
	if waiting := i.telling.Add(n); server == nil || waiting > tellMax && waiting > n {
		i.telling.Add(-n)
		return
	}
	i.client.tasks.Go(func() {
		defer i.telling.Add(-n)
		server.Inject(line)
	})
}

// crowded answers a request of the server for which there is no more room.
func (r *run) crowded(e *mcpproxy.Envelope) {
	answer := append([]byte(`{"jsonrpc":"2.0","id":`), e.ID...)
	r.server.tell(r.link.server.Load(), append(answer, `,"error":{"code":-32603,"message":"mcp-jail: too many requests wait for the client"}}`...))
}
