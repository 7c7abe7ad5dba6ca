package lifecycle

import (
	"sync"
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
		c.stderr.Say("mcp-jail: " + r.Problem + "\n")
		c.notify(asked, r.Problem)
	}
}

// refreshPause is the least time between two looks at the configuration of a stateful server,
// whose calls may be many thousands a second.
const refreshPause = time.Second

// refresher looks at the configuration of a stateful session, whose jail stays as it is.
type refresher struct {
	last atomic.Int64 // when it looked last, in nanoseconds

	mu      sync.Mutex
	problem string         // of the last look
	closed  bool           // no look begins any more
	looking sync.WaitGroup // one look at a time
}

// onCall is called for each call of a tool, on the goroutine that reads the client. It does not
// wait for the disk.
func (r *refresher) onCall(c *client, f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if c.config.Refresh == nil {
		return
	}
	now, last := time.Now().UnixNano(), r.last.Load()
	look := now-last >= int64(refreshPause) && r.last.CompareAndSwap(last, now)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problem == "" && !look {
		return
	}
	asked := modernRequest("tools/call", f.Slice(e.ParamsMeta)).logs
	if !look {
		c.tellRefreshed(Refreshed{Problem: r.problem}, asked)
		return
	}
	if !r.closed {
		r.looking.Go(func() { r.look(c, asked) })
	}
}

// look looks once, and tells what it has found.
func (r *refresher) look(c *client, asked bool) {
	found := c.config.Refresh()
	r.mu.Lock()
	r.problem = found.Problem
	r.mu.Unlock()
	c.tellRefreshed(found, asked)
}

// close waits for the look that has begun.
func (r *refresher) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.looking.Wait()
}

// refresh has the configuration read again if it has changed. It is called before the policy of a
// process is resolved.
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

// reloaded forgets what the server has said under the policy of discovery workers, if that is
// another one now.
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
	s.cache.reset()
	for i := range s.discoveries {
		d := &s.discoveries[i]
		d.mu.Lock()
		if w := d.worker; w != nil && w.server.profile.Key() != t.Profile.Key() {
			d.worker = nil
			s.client.tasks.Go(w.stopWhenIdle)
		}
		d.mu.Unlock()
	}
	if introduced {
		s.notifyListChanged("tools")
		s.notifyListChanged("prompts")
	}
}
