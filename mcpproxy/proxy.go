package mcpproxy

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrClientGone is in the chain of what RunServer returns when the client no
// longer reads.
var ErrClientGone = errors.New("the client no longer reads")

// Proxy relays between one client and whatever stands for its server. The two
// directions run independently, each on the goroutine that called it.
type Proxy struct {
	Client *Conn
	Hooks  Hooks

	Requests       *Pending // of the client
	ServerRequests *Pending // of the server: ids of the two directions are unrelated

	lastBatch uint64
}

// NewProxy returns a Proxy for a client.
func NewProxy(client *Conn, hooks Hooks) *Proxy {
	p := &Proxy{Client: client, Hooks: hooks, Requests: NewPending(), ServerRequests: NewPending()}
	p.ServerRequests.limitBytes = maxServerRequests
	return p
}

// maxServerRequests bounds what a server can make us remember: a client may never answer
// it, and what is remembered outlives the frame.
const maxServerRequests = 4 << 20

// RunClient forwards the client's frames to up until the client ends, which is
// no error. Lines that are not JSON are forwarded as they are: what to say to
// them is the server's business. An error of up ends it too.
func (p *Proxy) RunClient(up Upstream) error {
	var call Call
	for {
		f, err := p.Client.Next()
		if err != nil {
			return ignoreEOF(err)
		}
		if f.Oversized {
			if p.Hooks.Oversized != nil {
				p.Hooks.Oversized(FromClient, f)
			}
			continue
		}
		if !f.Junk() && !p.trackClient(f, &call) {
			continue
		}
		if err := up.Send(f); err != nil {
			return err
		}
	}
}

// trackClient enters requests before they are sent, since the answer may come
// while Send is still returning. It reports whether anything is left to be sent.
func (p *Proxy) trackClient(f *Frame, call *Call) bool {
	var batch uint64
	if f.Batch {
		p.lastBatch++
		batch = p.lastBatch
	}
	var cuts []*Span
	for i := range f.Messages {
		e := &f.Messages[i]
		switch e.Kind() {
		case Request:
			if e.Trackable() {
				p.Requests.Add(e, time.Now(), batch)
			}
			if p.Hooks.ClientRequest != nil {
				p.Hooks.ClientRequest(f, e)
			}
		case Response:
			switch {
			case !e.Trackable() || !p.ServerRequests.Take(e.ID, call):
			case call.Answered:
				cuts = append(cuts, &e.Self)
			case p.Hooks.ClientResponse != nil:
				p.Hooks.ClientResponse(f, e, call)
			}
		case Notification:
			if e.Cancels != nil && string(e.Method) == methodCancelled {
				// 2025-11-25, "Cancellation, Behavior Requirements": there is no answer
				// to a request that was cancelled. One that comes all the same passes.
				p.Requests.Drop(e.Cancels, func(*Call) bool { return true })
			}
		}
	}
	return p.removeMessages(f, cuts)
}

const methodCancelled = "notifications/cancelled"

// removeMessages takes messages out of a frame and reports whether one is left.
func (p *Proxy) removeMessages(f *Frame, cuts []*Span) bool {
	if len(cuts) == 0 {
		return true
	}
	if len(cuts) == len(f.Messages) {
		return false
	}
	f.Cut(cuts)
	return true
}

// RunServer forwards the frames of one server to the client until the server
// ends, which is no error. What is no MCP message is diverted to Hooks.Junk, and
// an answer to a request that is already answered is dropped.
func (p *Proxy) RunServer(server *Conn) error {
	t := serverTracker{p: p}
	return p.Hooks.Receive(server.Reader, func(f *Frame) error {
		if !t.track(f) {
			return nil
		}
		if err := p.Client.Send(f); err != nil {
			return fmt.Errorf("%w: %w", ErrClientGone, err)
		}
		return nil
	})
}

// serverTracker is what RunServer keeps from frame to frame.
type serverTracker struct {
	p         *Proxy
	call      Call
	firstSeen bool // the first answer has come
}

// track looks at the messages of a frame of the server, and reports whether
// anything is left to be sent to the client.
func (t *serverTracker) track(f *Frame) bool {
	p := t.p
	var cuts []*Span
	for i := range f.Messages {
		e := &f.Messages[i]
		switch e.Kind() {
		case Response:
			if t.trackResponse(f, e) {
				cuts = append(cuts, &e.Self)
			}
		case Request:
			if p.Hooks.ServerRequest != nil && p.Hooks.ServerRequest(e) {
				cuts = append(cuts, &e.Self)
			} else if e.Trackable() && !p.ServerRequests.Add(e, time.Now(), 0) {
				cuts = append(cuts, &e.Self)
				if p.Hooks.TooManyPending != nil {
					p.Hooks.TooManyPending(e)
				}
			}
		case Notification:
			switch string(e.Method) {
			case methodProgress:
				if p.Hooks.Progress != nil {
					p.Hooks.Progress(e)
				}
			case methodCancelled:
				// Of its own request, or, in 2026-07-28 ("Subscriptions"), the end of
				// the client's.
				if e.Cancels != nil && !p.ServerRequests.Drop(e.Cancels, func(*Call) bool { return true }) {
					p.Requests.Drop(e.Cancels, func(c *Call) bool { return string(c.Method) == "subscriptions/listen" })
				}
			}
		}
	}
	return p.removeMessages(f, cuts)
}

// trackResponse reports whether the answer is not to be forwarded.
func (t *serverTracker) trackResponse(f *Frame, e *Envelope) (drop bool) {
	p := t.p
	var c *Call
	if e.Trackable() && p.Requests.Take(e.ID, &t.call) {
		c = &t.call
	}
	if !t.firstSeen {
		t.firstSeen = p.Hooks.FirstResponse == nil || p.Hooks.FirstResponse(e, c)
	}
	if c != nil && c.Answered {
		return true
	}
	if len(e.Reserved) > 0 && p.Hooks.ReservedMembers != nil {
		p.Hooks.ReservedMembers(f, e)
	}
	if c != nil && p.Hooks.ServerResponse != nil {
		p.Hooks.ServerResponse(f, e, c)
	}
	return false
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
