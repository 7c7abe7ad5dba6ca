package lifecycle

import (
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// maxPendingBytes bounds what sendAsync keeps for a server that does not read.
const maxPendingBytes = 1 << 20

// sendAsync sends a server a message of ours without waiting. The server may not read before we
// have read its output, and the timeouts of other calls must not wait for a server that hangs. A
// message that would exceed maxPendingBytes is dropped, unless no other message waits. Only a task
// of the session may call sendAsync.
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
