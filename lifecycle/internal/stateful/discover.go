package stateful

import (
	"bytes"
	"context"
	"os"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// discoverGuard protects a server from an opening server/discover. A client of both eras
// sends it first, and takes any error as the answer of a legacy server (2026-07-28,
// "Discovery"). A legacy server may end on it. Then we answer in its name, and start it
// again, once. One that is alive may still answer: the client decides how long it waits.
//
// Invariants. Until disabled is set, every frame after the discover, except answers, is
// appended to replayLog before it is sent, so that a restarted server gets the frames of the
// dead one. A sender reads the server under mu, so that no frame reaches the restarted
// server twice.
type discoverGuard struct {
	disabled atomic.Bool // there is nothing to protect, or not any more

	mu           sync.Mutex
	sawFirst     bool   // the client has sent a frame
	discoverID   []byte // id of the opening discover; nil: the first frame was something else
	discoverSize int    // bytes of it as it was sent
	replayLog    []byte // the frames after it
	sent         bool   // the server was sent the discover
	serverEnded  bool   // the server has ended on it: requests wait for the restarted one
	restarted    bool   // the restarted server is being sent the replayLog: answers wait too

	moreFrames chan struct{} // gets a value when a frame follows the discover
	ready      session.Event // frames need not wait for a restarted server
}

// maxReplayLog bounds the replayLog. Clients wait for the answer to a probe, so more than
// a handshake after it means that it is not a probe.
const maxReplayLog = 1 << 20

func (g *discoverGuard) init() {
	g.moreFrames, g.ready.Done = make(chan struct{}, 1), make(chan struct{})
}

// beforeSend sees each frame of the client before it is sent, until the guard is disabled.
// It returns the server to send the frame to, and whether the frame is the opening
// discover.
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
	case isResponse(f) && !g.restarted: // only the current server has asked
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
		// A frame that is too large to be kept cannot be replayed, and ends the guard.
		kept, whole := f.AppendTo(g.replayLog)
		if g.replayLog = kept; !whole || len(kept) > maxReplayLog {
			g.replayLog = nil
			g.disabled.Store(true)
		}
	}
	return server.Load(), probe
}

// waitReady releases mu, waits for the restarted server, and takes mu again.
func (g *discoverGuard) waitReady() {
	g.mu.Unlock()
	<-g.ready.Done
	g.mu.Lock()
}

func (g *discoverGuard) markSent() {
	g.mu.Lock()
	g.sent = true
	g.mu.Unlock()
}

// diedOnDiscover reports whether a server that has ended did so on the discover: it has given no
// answer at all, except perhaps an error to the discover. From then on frames wait for the
// restarted server.
func (g *discoverGuard) diedOnDiscover() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serverEnded = g.sent && !g.disabled.Load()
	return g.serverEnded
}

func (g *discoverGuard) isDiscover(c *mcpproxy.Call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.discoverID != nil && bytes.Equal(c.ID, g.discoverID) && string(c.Method) == "server/discover"
}

// inputUntouched reports whether a server that has left n bytes of its stdin unread has
// read nothing of the discover and what follows it.
func (g *discoverGuard) inputUntouched(n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.discoverSize > 0 && n >= g.discoverSize+len(g.replayLog)
}

// replay sends server the frames that followed the discover, makes it the client's server, and
// disables the guard. It writes without mu: a program that is being loaded does not read, and the
// goroutine that waits for the program's end calls isDiscover.
func (g *discoverGuard) replay(server *mcpproxy.Conn, to *atomic.Pointer[mcpproxy.Conn]) {
	g.mu.Lock()
	kept := g.replayLog
	g.replayLog, g.restarted = nil, true
	g.mu.Unlock()
	// Frames that come now wait for ready, so that they follow the old ones.
	server.Replay(kept)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.disabled.Store(true)
	to.Store(server)
	g.ready.Set()
}

func isAnswerableDiscover(f *mcpproxy.Frame) bool {
	if f.Batch || len(f.Messages) != 1 || !f.Flaws.IsStrict() || f.Bytes() == nil {
		return false
	}
	e := &f.Messages[0]
	return e.Kind() == mcpproxy.Request && e.Trackable() && string(e.Method) == "server/discover"
}

func isResponse(f *mcpproxy.Frame) bool {
	for i := range f.Messages {
		if f.Messages[i].Kind() != mcpproxy.Response {
			return false
		}
	}
	return len(f.Messages) > 0
}

// answerDiscover answers the opening discover in the name of a server that has ended, unless the server
// has. It makes no diagnosis: for a legacy server that does not know the method this is not a failure.
// The client's answers to the server's requests are dropped, so that the next server does not get them.
func (s *statefulSession) answerDiscover(why string) {
	s.client.Proxy.ServerRequests.Answer(anyCall)
	for _, c := range s.calls.claim(s.upstream.guard.isDiscover) {
		frame := mcpproxy.NewResponse(c.ID, "error", session.DeclinedDiscover(s.server().Profile.Server, why))
		// It was kept for a late answer of the server, which cannot come any more.
		s.client.Proxy.Requests.Take(c.ID, new(mcpproxy.Call))
		s.client.Tasks.Go(func() { s.client.Proxy.Client.Inject(frame) })
	}
}

func (s *statefulSession) shouldRestart(how endCause) bool {
	// A server that has read nothing failed at its start, and no request is the reason. If the client has
	// left, a request other than the discover must be open.
	return !how.signalled && !how.untouched && how.startupTimeout == nil && !s.answered.IsSet() && !s.client.Gone.IsSet() &&
		(!how.byClient || s.calls.count() > 0 && !s.onlyDiscoverOpen()) && s.upstream.guard.diedOnDiscover()
}

func (s *statefulSession) waitForMore(ctx context.Context, ends <-chan os.Signal) bool {
	// Some clients probe a server and throw it away. They need no other one.
	guard := &s.upstream.guard
	select {
	case <-guard.moreFrames:
		return true
	case <-s.client.InputEnded:
		select {
		case <-guard.moreFrames: // the client sent more before it ended
			return true
		default:
			return false
		}
	case <-ends:
	case <-ctx.Done():
	}
	s.client.ShortenDeadline()
	return false
}

func (s *statefulSession) onlyDiscoverOpen() bool {
	return s.calls.count() == 1 && s.calls.id(s.upstream.guard.isDiscover) != nil
}
