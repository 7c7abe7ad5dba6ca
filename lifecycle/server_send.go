package lifecycle

import (
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

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
