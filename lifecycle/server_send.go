package lifecycle

import "github.com/mcp-jail/mcp-jail/mcpproxy"

// maxPendingBytes bounds what waits for a server to read it.
const maxPendingBytes = 1 << 20

// sendAsync sends a server a message of ours and does not wait for it: the server may
// not be reading before we have read on, and of one that hangs the other calls
// have to time out. One that reads nothing loses what is beyond tellMax. The
// caller is a task.
func (s *server) sendAsync(server *mcpproxy.Conn, line []byte) {
	n := int64(len(line))
	if waiting := s.pendingBytes.Add(n); server == nil || waiting > maxPendingBytes && waiting > n {
		s.pendingBytes.Add(-n)
		return
	}
	s.client.tasks.Go(func() {
		defer s.pendingBytes.Add(-n)
		server.Inject(line)
	})
}

// tooManyPending answers a request of the server for which there is no more room.
func (s *statefulSession) tooManyPending(e *mcpproxy.Envelope) {
	answer := append([]byte(`{"jsonrpc":"2.0","id":`), e.ID...)
	s.server.sendAsync(s.upstream.server.Load(), append(answer, `,"error":{"code":-32603,"message":"mcp-jail: too many requests wait for the client"}}`...))
}
