//go:build unix

package stateful

import (
	"context"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// observer is a process that is told of calls.
type observer struct {
	session.Process
	beside chan<- bool
}

func (o *observer) CallBegins(_ string, beside bool) { o.beside <- beside }
func (o *observer) CallEnds()                        {}

// TestCallObserver: a call runs beside others until they are answered or cancelled.
func TestCallObserver(t *testing.T) {
	t.Parallel()
	beside := make(chan bool, 8)
	p := begin(t, &sessiontest.Fake{Server: "scribe"}, func(s *session.Session) {
		inner := s.Launcher
		s.Launcher = session.LauncherFunc(func(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (session.Process, error) {
			proc, err := inner.Start(ctx, p, stdio)
			if err != nil {
				return nil, err
			}
			return &observer{proc, beside}, nil
		})
	})
	const hang = `,"method":"tools/call","params":{"name":"hang"}}`
	p.Send(`{"id":1`+hang, `{"id":2`+hang, `{"method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"id":3`+hang, `{"method":"notifications/cancelled","params":{"requestId":3}}`,
		`{"method":"notifications/cancelled","params":{"requestId":2}}`, `{"id":4`+hang, `{"method":"notifications/cancelled","params":{"requestId":4}}`)
	for i, want := range []bool{false, true, true, false} {
		if got := <-beside; got != want {
			t.Errorf("call %d: %v", i+1, got)
		}
	}
	p.Close()
}
