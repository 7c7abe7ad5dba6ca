package lifecycle

import (
	"fmt"
	"time"
)

// bootWatch times a server that has been asked and has not given its first
// answer: from the first request and not from the start, since a server may be
// silent until it is asked. An error to server/discover is no first answer, but
// the clock stands still until the next request.
type bootWatch struct {
	r            *run
	slow, silent <-chan time.Time
	since        time.Time
	held         int // notes held back because of the probe
}

func (b *bootWatch) arm() {
	if b.silent != nil || b.slow != nil || b.r.answered.isSet() || b.r.waiting() == 0 {
		return
	}
	b.since = time.Now()
	b.slow = time.After(b.r.client.times.bootNote)
	if limit := b.r.server.Profile.Startup; limit > 0 {
		b.silent = time.After(limit)
	}
}

func (b *bootWatch) disarm() { b.slow, b.silent = nil, nil }

// declined starts the clock anew for what else was asked.
func (b *bootWatch) declined() {
	b.disarm()
	b.arm()
}

// note says that the server is slow. Of a probe it says so later, when the server
// can no longer be one that ignores it.
func (b *bootWatch) note() {
	r := b.r
	if b.held < 2 && r.link.shield.open() {
		b.held++
		b.slow = time.After(r.client.times.bootNote)
		return
	}
	limit := ""
	if r.server.Profile.Startup > 0 {
		limit = fmt.Sprintf(", for at most %v", r.server.Profile.Startup)
	}
	r.client.errs.Say(fmt.Sprintf("mcp-jail: waiting for the first answer of server %q%s; %v so far\n", r.server.Profile.Server, limit, time.Since(b.since).Round(100*time.Millisecond)))
	b.slow = time.After(r.client.times.again)
}
