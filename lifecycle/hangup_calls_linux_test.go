package lifecycle_test

import (
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
)

// TestHangupOfCalls: when the client dies, workers with open calls are stopped too.
func TestHangupOfCalls(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, sessiontest.NewShop(), func(s *session.Session, _ *stateless.Options) { session.TimesOf(s).Term = time.Hour })
	p.Greet()
	p.Send(sessiontest.CallOf("2", "never", "{}"))
	p.Told("notifications/message")
	p.In.Close()
	p.Out.Close()
	p.Ended()
}
