//go:build unix

package stateful

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// begin starts a session.
func begin(t testing.TB, f *sessiontest.Fake, change func(*session.Session)) *sessiontest.Play {
	t.Helper()
	return sessiontest.BeginWith(t, f, change, Run)
}

func TestMain(m *testing.M) { sessiontest.MainOf(m, ownSession) }
