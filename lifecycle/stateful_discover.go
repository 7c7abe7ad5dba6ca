package lifecycle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// shield makes a server survive an opening server/discover (2026-07-28,
// "Discovery": a client that speaks both eras probes with it, and takes any
// error for a legacy server). A legacy server may end on it, or say nothing. The
// probe is then answered in its name, and a server that ended is started afresh,
// once.
//
// Invariant: until over is set, every frame behind the probe is in kept before it
// is sent, so that a fresh server can be sent what the dead one was; and who
// sends takes the server under mu, so that no frame reaches the fresh one twice.
type shield struct {
	over atomic.Bool // nothing to shield (any more)

	mu      sync.Mutex
	begun   bool   // a frame of the client has come
	id      []byte // of the probe; nil: the first frame was none
	size    int    // of the probe as it was sent
	kept    []byte // the frames behind it
	written bool   // the server was sent the probe
	settled bool   // it was answered, by the server or by us
	down    bool   // the server has ended on it: frames wait for another
	fresh   bool   // the other is there and being sent what was kept: answers wait, too

	probed chan struct{} // closed when the probe has been written
	more   chan struct{} // a frame came behind the probe
	up     flag          // frames need not wait for a fresh server (any more)
}

// maxKept bounds what is kept behind a probe. Clients wait for its answer: more
// than a handshake means that it is no probe.
const maxKept = 1 << 20

func (s *shield) init() {
	s.probed, s.more, s.up.c = make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
}

// watch sees each frame of the client before it is sent, while the shield is not
// over, and returns the server to send it to. probe: the frame is the probe.
func (s *shield) watch(f *mcpproxy.Frame, server *atomic.Pointer[mcpproxy.Conn]) (to *mcpproxy.Conn, probe bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over.Load() || f.Blank():
	case !s.begun:
		s.begun = true
		if !canProbe(f) {
			s.over.Store(true)
			break
		}
		sent, _ := f.AppendTo(nil)
		s.id, s.size, probe = bytes.Clone(f.Messages[0].ID), len(sent), true
	case isReply(f) && !s.fresh: // to a request that only this server knows
	case isReply(f):
		s.wait()
	default:
		select {
		case s.more <- struct{}{}:
		default:
		}
		if s.down {
			s.wait()
			break
		}
		kept, whole := f.AppendTo(s.kept)
		if s.kept = kept; !whole || len(kept) > maxKept {
			s.kept = nil
			s.over.Store(true)
		}
	}
	return server.Load(), probe
}

// wait waits for the fresh server without mu.
func (s *shield) wait() {
	s.mu.Unlock()
	<-s.up.c
	s.mu.Lock()
}

// sent notes that the server was sent the probe.
func (s *shield) sent() {
	s.mu.Lock()
	s.written = true
	s.mu.Unlock()
	close(s.probed)
}

// settle notes that the probe was answered.
func (s *shield) settle() {
	s.mu.Lock()
	s.settled = true
	s.mu.Unlock()
}

// open reports whether a probe waits for its answer.
func (s *shield) open() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written && !s.settled
}

// struck reports whether a server that has ended did so on the probe (unanswered,
// or answered with an error, and with nothing answered since). From then on
// frames wait for another.
func (s *shield) struck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = s.written && !s.over.Load()
	return s.down
}

// isProbe reports whether a request is the probe.
func (s *shield) isProbe(c *mcpproxy.Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id != nil && bytes.Equal(c.ID, s.id) && string(c.Method) == "server/discover"
}

// untouched reports whether a server that has left n bytes of its stdin unread
// has read nothing of what the probe began.
func (s *shield) untouched(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size > 0 && n >= s.size+len(s.kept)
}

// replay makes server the one that the client talks to, sends it what was sent
// behind the probe, and ends the shield. It does so without mu: a server that is
// being loaded does not read, and who attends it asks whether a probe is open.
func (s *shield) replay(server *mcpproxy.Conn, to *atomic.Pointer[mcpproxy.Conn]) {
	s.mu.Lock()
	kept := s.kept
	s.kept, s.fresh = nil, true
	s.mu.Unlock()
	server.Replay(kept)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over.Store(true)
	to.Store(server)
	s.up.set()
}

// canProbe reports whether a frame is a server/discover that can be answered.
func canProbe(f *mcpproxy.Frame) bool {
	if f.Batch || len(f.Messages) != 1 || !f.Flaws.Strict() || f.Bytes() == nil {
		return false
	}
	e := &f.Messages[0]
	return e.Kind() == mcpproxy.Request && e.Trackable() && string(e.Method) == "server/discover"
}

// isReply reports whether a frame is an answer, or answers, of the client.
func isReply(f *mcpproxy.Frame) bool {
	for i := range f.Messages {
		if f.Messages[i].Kind() != mcpproxy.Response {
			return false
		}
	}
	return len(f.Messages) > 0
}

// answerProbe answers the probe in the server's name, unless the server has. No
// diagnosis is made of it: a legacy server that does not know the method is none.
// dead: no late answer can come, nor are answers to its requests for another.
func (r *run) answerProbe(why string, dead bool) {
	s := &r.link.shield
	if dead {
		r.client.proxy.Reverse.Answer(everything)
	}
	for _, c := range r.client.open(s.isProbe) {
		r.client.log.Info().Str("server", r.server.Profile.Server).Str("why", why).Msg("answered server/discover in the server's name")
		text := fmt.Sprintf("mcp-jail: server %q %s; taken for one that does not know it", r.server.Profile.Server, why)
		frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%s,"data":{"dev.mcp-jail/shield":{"server":%s,"method":"server/discover"}}}}`+"\n",
			c.ID, quoted(text), quoted(r.server.Profile.Server))
		if dead {
			r.client.proxy.Requests.Take(c.ID, new(mcpproxy.Call))
		}
		r.client.tasks.Go(func() { r.client.proxy.Client.Inject(frame) })
	}
	s.settle()
}

// shielded reports whether a server that has ended is to be started afresh. One
// that was not even reading fails at its start, whatever it was sent; and of a
// client that has ended something else has to be open.
func (r *run) shielded(how ending) bool {
	return !how.signalled && !how.untouched && how.silent == nil && !r.answered.isSet() && !r.client.gone.isSet() &&
		(!how.byClient || r.waiting() > 0 && !r.onProbe()) && r.link.shield.struck()
}

// awaitMore waits for what the client says behind a probe that has cost the
// server its life. Only then is there a reason to start another: clients probe
// throw-away servers, too.
func (r *run) awaitMore(ctx context.Context, ends <-chan os.Signal) bool {
	s := &r.link.shield
	select {
	case <-s.more:
		return true
	default:
	}
	select {
	case <-s.more:
		return true
	case <-r.client.clientEnded:
		select {
		case <-s.more: // and then it ended
			return true
		default:
			return false
		}
	case <-ends:
	case <-ctx.Done():
	}
	r.client.hurry()
	return false
}

func exitWords(e confine.Exit) string {
	if e.Signal != 0 {
		return "signal " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// onProbe reports whether the probe is all that the client has asked.
func (r *run) onProbe() bool {
	return r.link.shield.open() && r.waiting() == 1
}

// waiting counts the requests that nobody has answered.
func (r *run) waiting() (n int) {
	r.client.proxy.Requests.Each(func(*mcpproxy.Call) { n++ })
	return n
}

// watchProbe tells on the channel when the server has ignored a probe for long
// enough: since it has read it, where that can be seen, because a program that
// is still being loaded ignores nothing.
func (r *run) watchProbe(quit <-chan struct{}) <-chan struct{} {
	s := &r.link.shield
	ignored := make(chan struct{})
	if s.over.Load() {
		return ignored
	}
	stdin, limit := r.server.pipes.stdin, r.client.times.probe
	r.client.tasks.Go(func() {
		select {
		case <-s.probed:
		case <-quit:
			return
		}
		ticker := time.NewTicker(max(limit/40, time.Millisecond))
		defer ticker.Stop()
		var read time.Time
		for s.open() {
			select {
			case now := <-ticker.C:
				switch {
				case read.IsZero():
					if !s.untouched(unread(stdin)) {
						read = now
					}
				case now.Sub(read) >= limit:
					close(ignored)
					return
				}
			case <-quit:
				return
			}
		}
	})
	return ignored
}
