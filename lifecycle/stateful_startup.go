package lifecycle

import (
	"fmt"
	"time"
)

// startupTimer times a server that has been asked and has not given its first
// answer: from the first request and not from the start, since a server may be
// silent until it is asked. An error to server/discover is no first answer, but
// the clock stands still until the next request.
type startupTimer struct {
	session      *statefulSession
	slow, silent <-chan time.Time
	since        time.Time
	held         int // notes held back because of the probe
}

func (b *startupTimer) arm() {
	if b.silent != nil || b.slow != nil || b.session.answered.isSet() || b.session.openRequests() == 0 {
		return
	}
	b.since = time.Now()
	b.slow = time.After(b.session.client.times.slowNote)
	if limit := b.session.server.profile.Startup; limit > 0 {
		b.silent = time.After(limit)
	}
}

func (b *startupTimer) disarm() { b.slow, b.silent = nil, nil }

// restart starts the clock anew for what else was asked.
func (b *startupTimer) restart() {
	b.disarm()
	b.arm()
}

// sayWaiting says that the server is slow. Of a probe it says so later, when the server
// can no longer be one that ignores it.
func (b *startupTimer) sayWaiting() {
	r := b.session
	if b.held < 2 && r.upstream.guard.awaitsAnswer() {
		b.held++
		b.slow = time.After(r.client.times.slowNote)
		return
	}
	limit := ""
	if r.server.profile.Startup > 0 {
		limit = fmt.Sprintf(", for at most %v", r.server.profile.Startup)
	}
	r.client.stderr.Say(fmt.Sprintf("mcp-jail: waiting for the first answer of server %q%s; %v so far\n", r.server.profile.Server, limit, time.Since(b.since).Round(100*time.Millisecond)))
	b.slow = time.After(r.client.times.slowRepeat)
}
