package session

import (
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// ShareFloor is the memory that each process of the server can always use for its answers, and as
// much again for its requests.
const ShareFloor = mcpproxy.Memory / 128

// sendCost is the memory of a goroutine that waits to send.
const sendCost = 8 << 10

// SendAsync sends a server one of our messages without waiting. The server may not read before we
// have read its output, and the timeouts of other calls must not wait for a server that hangs. A
// message for which there is no memory is dropped. Only a task of the session may call SendAsync.
func (s *Server) SendAsync(server *mcpproxy.Conn, line []byte) {
	cost := int64(len(line) + sendCost)
	if server == nil || !s.Answers.Take(cost) {
		return
	}
	s.Client.Tasks.Go(func() {
		defer s.Answers.Give(cost)
		server.Inject(line)
	})
}
