package lifecycle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// discoverGuard makes a server survive an opening server/discover (2026-07-28,
// "Discovery": a client that speaks both eras probes with it, and takes any
// error for a legacy server). A legacy server may end on it, or say nothing. The
// probe is then answered in its name, and a server that ended is started afresh,
// once.
//
// Invariant: until over is set, every frame behind the probe is in kept before it
// is sent, so that a fresh server can be sent what the dead one was; and who
// sends takes the server under mu, so that no frame reaches the fresh one twice.
type discoverGuard struct {
	disabled atomic.Bool // nothing to shield (any more)

	mu           sync.Mutex
	sawFirst     bool   // a frame of the client has come
	discoverID   []byte // of the probe; nil: the first frame was none
	discoverSize int    // of the probe as it was sent
	replayLog    []byte // the frames behind it
	sent         bool   // the server was sent the probe
	answered     bool   // it was answered, by the server or by us
	serverEnded  bool   // the server has ended on it: frames wait for another
	restarted    bool   // the other is there and being sent what was kept: answers wait, too

	discoverSent chan struct{} // closed when the probe has been written
	moreFrames   chan struct{} // a frame came behind the probe
	ready        event         // frames need not wait for a fresh server (any more)
}

// maxReplayLog bounds what is kept behind a probe. Clients wait for its answer: more
// than a handshake means that it is no probe.
const maxReplayLog = 1 << 20

func (g *discoverGuard) init() {
	g.discoverSent, g.moreFrames, g.ready.done = make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
}

// beforeSend sees each frame of the client before it is sent, while the shield is not
// over, and returns the server to send it to. probe: the frame is the probe.
func (g *discoverGuard) beforeSend(f *mcpproxy.Frame, server *atomic.Pointer[mcpproxy.Conn]) (to *mcpproxy.Conn, probe bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.disabled.Load() || f.Blank():
	case !g.sawFirst:
		g.sawFirst = true
		if !isAnswerableDiscover(f) {
			g.disabled.Store(true)
			break
		}
		sent, _ := f.AppendTo(nil)
		g.discoverID, g.discoverSize, probe = bytes.Clone(f.Messages[0].ID), len(sent), true
	case isResponse(f) && !g.restarted: // to a request that only this server knows
	case isResponse(f):
		g.waitReady()
	default:
		select {
		case g.moreFrames <- struct{}{}:
		default:
		}
		if g.serverEnded {
			g.waitReady()
			break
		}
		kept, whole := f.AppendTo(g.replayLog)
		if g.replayLog = kept; !whole || len(kept) > maxReplayLog {
			g.replayLog = nil
			g.disabled.Store(true)
		}
	}
	return server.Load(), probe
}

// waitReady waits for the fresh server without mu.
func (g *discoverGuard) waitReady() {
	g.mu.Unlock()
	<-g.ready.done
	g.mu.Lock()
}

// markSent notes that the server was sent the probe.
func (g *discoverGuard) markSent() {
	g.mu.Lock()
	g.sent = true
	g.mu.Unlock()
	close(g.discoverSent)
}

// markAnswered notes that the probe was answered.
func (g *discoverGuard) markAnswered() {
	g.mu.Lock()
	g.answered = true
	g.mu.Unlock()
}

// awaitsAnswer reports whether a probe waits for its answer.
func (g *discoverGuard) awaitsAnswer() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent && !g.answered
}

// diedOnDiscover reports whether a server that has ended did so on the probe (unanswered,
// or answered with an error, and with nothing answered since). From then on
// frames wait for another.
func (g *discoverGuard) diedOnDiscover() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serverEnded = g.sent && !g.disabled.Load()
	return g.serverEnded
}

// isDiscover reports whether a request is the probe.
func (g *discoverGuard) isDiscover(c *mcpproxy.Call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.discoverID != nil && bytes.Equal(c.ID, g.discoverID) && string(c.Method) == "server/discover"
}

// inputUntouched reports whether a server that has left n bytes of its stdin unread
// has read nothing of what the probe began.
func (g *discoverGuard) inputUntouched(n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.discoverSize > 0 && n >= g.discoverSize+len(g.replayLog)
}

// replay makes server the one that the client talks to, sends it what was sent
// behind the probe, and ends the shield. It does so without mu: a server that is
// being loaded does not read, and who attends it asks whether a probe is open.
func (g *discoverGuard) replay(server *mcpproxy.Conn, to *atomic.Pointer[mcpproxy.Conn]) {
	g.mu.Lock()
	kept := g.replayLog
	g.replayLog, g.restarted = nil, true
	g.mu.Unlock()
	server.Replay(kept)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.disabled.Store(true)
	to.Store(server)
	g.ready.set()
}

// isAnswerableDiscover reports whether a frame is a server/discover that can be answered.
func isAnswerableDiscover(f *mcpproxy.Frame) bool {
	if f.Batch || len(f.Messages) != 1 || !f.Flaws.IsStrict() || f.Bytes() == nil {
		return false
	}
	e := &f.Messages[0]
	return e.Kind() == mcpproxy.Request && e.Trackable() && string(e.Method) == "server/discover"
}

// isResponse reports whether a frame is an answer, or answers, of the client.
func isResponse(f *mcpproxy.Frame) bool {
	for i := range f.Messages {
		if f.Messages[i].Kind() != mcpproxy.Response {
			return false
		}
	}
	return len(f.Messages) > 0
}

// answerDiscover answers the probe in the server's name, unless the server has. No
// diagnosis is made of it: a legacy server that does not know the method is none.
// dead: no late answer can come, nor are answers to its requests for another.
func (s *statefulSession) answerDiscover(why string, dead bool) {
	guard := &s.upstream.guard
	if dead {
		s.client.proxy.ServerRequests.Answer(anyCall)
	}
	for _, c := range s.client.claimRequests(guard.isDiscover) {
		s.client.log.Info().Str("server", s.server.profile.Server).Str("why", why).Msg("answered server/discover in the server's name")
		text := fmt.Sprintf("mcp-jail: server %q %s; taken for one that does not know it", s.server.profile.Server, why)
		frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%s,"data":{"dev.mcp-jail/shield":{"server":%s,"method":"server/discover"}}}}`+"\n",
			c.ID, jsonString(text), jsonString(s.server.profile.Server))
		if dead {
			s.client.proxy.Requests.Take(c.ID, new(mcpproxy.Call))
		}
		s.client.tasks.Go(func() { s.client.proxy.Client.Inject(frame) })
	}
	guard.markAnswered()
}

// shouldRestart reports whether a server that has ended is to be started afresh. One
// that was not even reading fails at its start, whatever it was sent; and of a
// client that has ended something else has to be open.
func (s *statefulSession) shouldRestart(how endCause) bool {
	return !how.signalled && !how.untouched && how.startupTimeout == nil && !s.answered.isSet() && !s.client.gone.isSet() &&
		(!how.byClient || s.openRequests() > 0 && !s.onlyDiscoverOpen()) && s.upstream.guard.diedOnDiscover()
}

// waitForMore waits for what the client says behind a probe that has cost the
// server its life. Only then is there a reason to start another: clients probe
// throw-away servers, too.
func (s *statefulSession) waitForMore(ctx context.Context, ends <-chan os.Signal) bool {
	guard := &s.upstream.guard
	select {
	case <-guard.moreFrames:
		return true
	default:
	}
	select {
	case <-guard.moreFrames:
		return true
	case <-s.client.inputEnded:
		select {
		case <-guard.moreFrames: // and then it ended
			return true
		default:
			return false
		}
	case <-ends:
	case <-ctx.Done():
	}
	s.client.shortenDeadline()
	return false
}

// onlyDiscoverOpen reports whether the probe is all that the client has asked.
func (s *statefulSession) onlyDiscoverOpen() bool {
	return s.upstream.guard.awaitsAnswer() && s.openRequests() == 1
}

// openRequests counts the requests that nobody has answered.
func (s *statefulSession) openRequests() (n int) {
	s.client.proxy.Requests.Each(func(*mcpproxy.Call) { n++ })
	return n
}

// watchDiscover tells on the channel when the server has ignored a probe for long
// enough: since it has read it, where that can be seen, because a program that
// is still being loaded ignores nothing.
func (s *statefulSession) watchDiscover(quit <-chan struct{}) <-chan struct{} {
	guard := &s.upstream.guard
	ignored := make(chan struct{})
	if guard.disabled.Load() {
		return ignored
	}
	stdin, limit := s.server.pipes.stdin, s.client.times.discover
	s.client.tasks.Go(func() {
		select {
		case <-guard.discoverSent:
		case <-quit:
			return
		}
		ticker := time.NewTicker(max(limit/40, time.Millisecond))
		defer ticker.Stop()
		var read time.Time
		for guard.awaitsAnswer() {
			select {
			case now := <-ticker.C:
				switch {
				case read.IsZero():
					if !guard.inputUntouched(unreadBytes(stdin)) {
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
