package lifecycle

import (
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// Refreshed is what Session.Refresh has found.
type Refreshed struct {
	// Changed says that processes which start from now on have another policy than those
	// before. It is true once for each change.
	Changed bool
	// Notice tells the user of a change, once; "" if there is nothing to tell.
	Notice string
	// Problem says why the configuration cannot be used as it is now, and what is used in its
	// place. It is told at every call of a tool.
	Problem string
}

// tellRefreshed tells the user and the client what a refresh has found. asked says that the
// request at hand has asked for log messages.
func (c *client) tellRefreshed(r Refreshed, asked bool) {
	if r.Notice != "" {
		c.warn(r.Notice)
		c.recordChanged()
		c.notify(asked, r.Notice)
	}
	if r.Problem != "" {
		c.stderr.SayLine(r.Problem)
		c.notify(asked, r.Problem)
	}
}

// refreshPause is the least time between two looks at the configuration of a stateful server,
// whose calls may be many thousands a second.
const refreshPause = time.Second

// refresher looks at the configuration of a stateful session, whose jail stays as it is. It does
// so on a goroutine of its own: neither the disk nor a slow client delays a call.
type refresher struct {
	wanted  chan bool // a call came; the value says that it asks for log messages
	ended   chan struct{}
	last    atomic.Int64 // when it looked last, in nanoseconds
	problem atomic.Bool  // the last look found one
}

// start starts the goroutine, if the session has a Refresh.
func (r *refresher) start(c *client) {
	r.wanted, r.ended = make(chan bool, 1), make(chan struct{})
	if c.config.Refresh == nil {
		return
	}
	c.tasks.Go(func() {
		var found Refreshed
		for {
			select {
			case <-r.ended:
				return
			case asked := <-r.wanted:
				found.Notice = ""
				if now := time.Now().UnixNano(); now-r.last.Load() >= int64(refreshPause) {
					r.last.Store(now)
					found = c.config.Refresh()
					r.problem.Store(found.Problem != "")
				}
				c.tellRefreshed(found, asked)
			}
		}
	})
}

// onCall asks the goroutine for a look, because of a call of a tool. The goroutine that reads the
// client calls onCall.
func (r *refresher) onCall(c *client, f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if c.config.Refresh == nil || !r.problem.Load() && time.Now().UnixNano()-r.last.Load() < int64(refreshPause) {
		return
	}
	asked := e.Era() == mcpproxy.Modern && modernRequest("tools/call", f.Slice(e.ParamsMeta)).logs
	select {
	case r.wanted <- asked:
	default: // an earlier call has asked for the look
	}
}

// stop ends the goroutine.
func (r *refresher) stop() { close(r.ended) }

// refresh has the configuration read again if it has changed. It is called before the policy of a
// call is resolved, and before each use of a discovery worker.
func (s *statelessSession) refresh(asked bool) {
	if s.client.config.Refresh == nil {
		return
	}
	r := s.client.config.Refresh()
	s.client.tellRefreshed(r, asked)
	if r.Changed {
		s.reloaded()
	}
}

// reloaded compares the policy of discovery workers with the one before. If they differ, it
// forgets the server's answers, and stops the discovery workers under the old policy when they are
// idle. It tells a legacy client that its lists have changed.
func (s *statelessSession) reloaded() {
	t, err := s.options.Tool("")
	if err != nil {
		return // the next discovery says it
	}
	s.mu.Lock()
	before := s.profile
	s.profile = t.Profile
	introduced := s.legacyInfo != nil
	s.mu.Unlock()
	if before.Key() == t.Profile.Key() {
		return
	}
	offered := s.cache.reset()
	for i := range s.discoveries {
		d := &s.discoveries[i]
		d.mu.Lock()
		if w := d.worker; w != nil && w.server.profile.Key() != t.Profile.Key() {
			d.worker = nil
			s.client.tasks.Go(w.stopWhenIdle)
		}
		d.mu.Unlock()
	}
	for _, kind := range offered {
		if introduced {
			s.notifyListChanged(kind)
		}
	}
}
