//go:build unix

package lifecycle

import (
	"context"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateful"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
)

func TestMain(m *testing.M) { sessiontest.MainOf(m, nil) }

// begin starts a stateful session.
func begin(t testing.TB, f *sessiontest.Fake, change func(*session.Session)) *sessiontest.Play {
	t.Helper()
	return sessiontest.BeginWith(t, f, change, stateful.Run)
}

// beginStateless starts a session each of whose calls has a process of its own.
func beginStateless(t testing.TB, f *sessiontest.Fleet, change func(*session.Session, *stateless.Options)) *sessiontest.Play {
	t.Helper()
	p, s := sessiontest.NewFleetPlay(t, f)
	o := stateless.Options{Version: "test", Tool: func(name string) (stateless.Tool, error) {
		return stateless.Tool{Profile: sessiontest.ProfileOf(&s, name)}, nil
	}}
	if change != nil {
		change(&s, &o)
	}
	p.RunFleet(f, s, func(ctx context.Context) confine.Exit { return stateless.Run(ctx, s, o) })
	return p
}
