//go:build unix

package stateless

import (
	"fmt"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

func TestMain(m *testing.M) { sessiontest.MainOf(m, nil) }

// statelessPlay is a session under test, seen from the client and from inside.
type statelessPlay struct {
	*sessiontest.Play
	session *statelessSession
}

// beginStateless starts a session each of whose calls has a process of its own.
// Everything of it is over when the test ends, or the test fails.
func beginStateless(t testing.TB, f *sessiontest.Fleet, change func(*session.Session, *Options)) *statelessPlay {
	t.Helper()
	p, s := sessiontest.NewFleetPlay(t, f)
	o := Options{Version: "test", Tool: func(name string) (Tool, error) { return Tool{Profile: sessiontest.ProfileOf(&s, name)}, nil }}
	if change != nil {
		change(&s, &o)
	}
	var running *statelessSession
	p.Labelled(func() { running = newStatelessSession(s, o) })
	t.Cleanup(func() { // after the session is over
		if t.Failed() {
			return
		}
		table, asked, pool := &running.dispatcher.table, &running.serverRequests, &running.pool
		for _, mu := range []*sync.Mutex{&table.mu, &asked.mu, &pool.mu} {
			mu.Lock()
			defer mu.Unlock()
		}
		if left := fmt.Sprint(len(table.open), len(table.queue), table.waiting, table.answered, len(asked.open), len(pool.workers), len(pool.offers)); left != "0 0 {0 0} {0 0} 0 0 0" {
			t.Error("the tables are not empty: " + left)
		}
	})
	p.RunFleet(f, s, running.run)
	return &statelessPlay{p, running}
}

// greeted begins a session with the servers of a shop, and greets it.
func greeted(t testing.TB, change func(*session.Session, *Options)) (*sessiontest.Fleet, *statelessPlay) {
	t.Helper()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, change)
	p.Greet()
	return f, p
}

// pooled waits until something holds of the pool.
func (p *statelessPlay) pooled(condition string, holds func(*pool) bool) {
	p.T.Helper()
	sessiontest.Eventually(p.T, condition, func() bool {
		p.session.pool.mu.Lock()
		defer p.session.pool.mu.Unlock()
		return holds(&p.session.pool)
	})
}

// warmReady returns the warm workers that a call could get. The caller holds mu.
func (p *pool) warmReady() (all []*worker) {
	for _, w := range p.offers {
		if w.tool != "" && w.uses == 0 {
			all = append(all, w)
		}
	}
	return all
}
