//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUnansweredPort: an error without words gets the port of the loopback that the server tried in
// vain and at which the host listens. A success is not annotated.
func TestUnansweredPort(t *testing.T) {
	t.Parallel()
	const fails = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fails"}}`
	for _, c := range []struct {
		name    string
		call    string
		listens int
		at      time.Duration // of the connection, from now
		told    bool
	}{
		{"during the call", fails, 11434, time.Hour, true},
		{"before the call", fails, 11434, -time.Hour, true},
		{"no listener on the host", fails, 80, time.Hour, false},
		{"a success", sessiontest.CallLine, 11434, time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := time.Now().Add(c.at)
			p := begin(t, &sessiontest.Fake{Server: "wordless", Unanswered: []policy.Unanswered{{Host: "localhost", Port: 11434, Time: at, Last: at}}}, func(s *session.Session) {
				s.Known.Listens = func(host string, port int) bool { return host == "localhost" && port == c.listens }
			})
			p.Send(c.call)
			got := p.Line()
			if told := strings.Contains(got, `"attribution":"likely"`) && strings.Contains(got, `localhost:11434`); told != c.told || !told && strings.Contains(got, "mcp-jail") {
				t.Errorf("told: %t\n%s", told, got)
			}
			p.Close()
		})
	}
}
