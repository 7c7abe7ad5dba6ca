// Package mcpproxy relays MCP messages between a client and a server byte for
// byte. It reads just enough of each message to match responses to requests.
//
// # Use
//
// A [Reader] cuts a stream into frames. A frame is one line with its line end.
// The reader scans the envelope of each message: id, method, the name of the
// tool, whether a result is an error, and the offsets at which text can be
// inserted. The scan neither decodes nor re-encodes a message.
//
// A [Writer] is the only writer of a direction. It writes whole frames, so a
// message of mcp-jail can be injected between two frames and nowhere else. A
// [Pending] table holds the open requests. A [Proxy] combines these for one
// client: it forwards frames, matches responses to requests by id and calls
// [Hooks].
//
// Text is added to a message by inserting it into the original bytes, and
// removed by cutting it out: see [Frame.AddMember], [Frame.Cut] and
// [Frame.Replace]. Numbers such as 9007199254740993, unknown members, the order
// of members, white space and line ends stay the same.
//
// A caller that distributes the messages of one client to several servers needs
// three things more: frames that outlive the Reader ([Frame.Detach]), the
// messages of a batch one by one ([Frame.Split], [Batch]), and a warning when a
// server could see another call in a frame than the envelope holds
// ([Flaw.Ambiguous]).
//
// # What is a message
//
// A line of a server is passed on if it is JSON with the members of a JSON-RPC
// message ([Frame.Noise]). All else is noise, which the client does not get. A
// message over several lines, or one framed with Content-Length, is not repaired.
// It is reported with its id, so that its request is answered with an error
// ([ErrSeveralLines], [ErrContentLength]).
//
// # Memory
//
// A frame of up to 4 MiB is held in memory. A larger frame goes to an unlinked
// temporary file until its end is known. A frame beyond the limit of the Reader
// is dropped while it is scanned. It is reported as Oversized, with its id even
// if the id is its last member. So a line of 1 GiB needs about 4 MiB. When no
// temporary file can be made, or the file takes no more bytes, the rest of the
// frame is held in memory, up to the limit for each frame.
//
// # Limits
//
//   - Ids are compared by their values, as JSON-RPC does: 3, 3.0 and 3e0 are one
//     id, and "3" is another. No number is rounded.
//   - A cancelled request is removed from the table. A late response to it is
//     forwarded, unless [Hooks].UnmatchedResponse drops it. The hooks do not learn
//     which request it belongs to.
//   - The table of a server's requests does not record which server process sent
//     them. A caller that replaces a running process does so under [Proxy.Pause].
//     One whose process has ended marks them by [Pending.Answer].
//   - Of each side, 8192 requests may wait for their responses, with ids of at
//     most 1024 bytes. Further requests are not forwarded.
//   - Of a batch the first 4096 messages are scanned, and no nested arrays. Of
//     all texts that are captured from a frame (ids, methods, names), 1 MiB is
//     kept. [Hooks].Receive does not forward a frame that has more of either,
//     since reserved members could hide beyond the bound.
//   - Duplicate names are detected in the envelope, in params, result and error,
//     in the _meta of params and result, in params.capabilities and its
//     experimental, and in error.data. Other objects are only checked for being
//     JSON.
//   - A line ends with a newline, and for some readers with a carriage return
//     (FlawLine). A reader that cuts lines elsewhere, for example at the size of
//     its buffer, may see a message inside another.
//   - NaN, the infinities and a byte order mark are not JSON. Some peers accept
//     them, so such frames pass, with a flaw.
//   - A message with containers nested deeper than 10000 is not passed on ([ErrTooDeep]).
//   - Reserved members are found in result._meta, error.data, params._meta and
//     params.capabilities.experimental, also where those names are duplicate or
//     written in another case. They are not found deeper, nor in the text of a
//     result.
//
// The package knows neither processes nor policies. It imports only the standard
// library.
package mcpproxy

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ErrClientGone is in the chain of the error of RunServer when the client no longer reads.
var ErrClientGone = errors.New("the client no longer reads")

// Proxy relays between one client and its servers. RunClient and RunServer each relay one
// direction, independently, on the goroutine that calls them.
type Proxy struct {
	Client *Conn
	Hooks  Hooks

	Requests       *Pending // of the client
	ServerRequests *Pending // of the server; ids of the two directions are unrelated

	lastBatch uint64
	turn      sync.Mutex // held while a frame of the client is forwarded: see Pause
}

// NewProxy returns a Proxy for a client.
func NewProxy(client *Conn, hooks Hooks) *Proxy {
	return &Proxy{Client: client, Hooks: hooks, Requests: NewPending(), ServerRequests: NewPending()}
}

// RunClient forwards the client's frames to up until the client ends, which is not an error. Lines
// that are not MCP messages are forwarded unchanged, so that the server responds to them. An error
// of up ends RunClient.
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
		if p.Hooks.ClientFrame != nil && p.Hooks.ClientFrame(f) {
			continue
		}
		p.turn.Lock()
		err = p.forward(f, up, &call)
		p.turn.Unlock()
		if err != nil {
			return err
		}
	}
}

// Pause holds the client's frames back until resume is called, and refuses the server's requests until then or until
// Open of ServerRequests. It does so only if no frame is being forwarded, no request of the server is open, and none of
// the client for which waits returns true.
func (p *Proxy) Pause(waits func(*Call) bool) (resume func(), ok bool) {
	if !p.turn.TryLock() {
		return nil, false
	}
	if p.Requests.Has(waits) || !p.ServerRequests.shutEmpty() {
		p.turn.Unlock()
		return nil, false
	}
	return func() {
		p.ServerRequests.Open()
		p.turn.Unlock()
	}, true
}

// Forward forwards a frame of the client that a hook has kept, as if the client had sent it now. It is for the
// goroutine of RunClient.
func (p *Proxy) Forward(f *Frame, up Upstream) error { return p.forward(f, up, new(Call)) }

func (p *Proxy) forward(f *Frame, up Upstream, call *Call) error {
	if !f.NonMessage() && !p.trackClient(f, call) {
		return nil
	}
	return up.Send(f)
}

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
			// Before it is sent: the response may arrive before Send returns.
			var added *Call
			if e.Trackable() {
				added = p.Requests.add(e, time.Now(), batch)
			}
			if e.Trackable() && added == nil {
				cuts = append(cuts, &e.Self)
				p.Requests.Leave(NewCall(e, time.Now()), nil)
				if p.Hooks.TooManyPending != nil {
					p.Hooks.TooManyPending(FromClient, e)
				}
				break
			}
			if p.Hooks.ClientRequest != nil && p.Hooks.ClientRequest(f, e) {
				if c := p.Requests.take(e.ID, func(c *Call) bool { return c == added }); c != nil && !c.Answered { // nil: it was withdrawn
					p.Requests.Leave(c, nil)
				}
				cuts = append(cuts, &e.Self)
			}
		case Response:
			switch {
			case !e.Trackable():
			case p.Hooks.OwnResponse != nil && p.Hooks.OwnResponse(f, e):
				cuts = append(cuts, &e.Self)
			case !p.ServerRequests.Take(e.ID, call):
			case call.Answered:
				cuts = append(cuts, &e.Self)
			case p.Hooks.ClientResponse != nil:
				p.Hooks.ClientResponse(f, e, call)
			}
		case Notification:
			if e.Cancels != nil && string(e.Method) == methodCancelled {
				// 2025-11-25, "Cancellation, Behavior Requirements": a cancelled request
				// has no response. A response that is sent anyway matches no request.
				p.Requests.Drop(e.Cancels, func(*Call) bool { return true })
				if p.Hooks.ClientCancels != nil && p.Hooks.ClientCancels(e.Cancels) {
					cuts = append(cuts, &e.Self)
				}
			}
		}
	}
	return p.removeMessages(f, cuts)
}

const methodCancelled = "notifications/cancelled"

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

// RunServer forwards the frames of one server to the client until the server ends, which
// is not an error. Lines that are not MCP messages go to Hooks.NonMessage. A response to a
// request that is already Answered is dropped.
func (p *Proxy) RunServer(server *Conn) error {
	t := serverTracker{p: p}
	return p.Hooks.Receive(server.Reader, func(f *Frame) error {
		if p.Hooks.ServerFrame != nil && p.Hooks.ServerFrame(f) || !t.track(f) {
			return nil
		}
		if err := p.Client.Send(f); err != nil {
			return fmt.Errorf("%w: %w", ErrClientGone, err)
		}
		return nil
	})
}

// serverTracker is the state that RunServer keeps from frame to frame.
type serverTracker struct {
	p         *Proxy
	call      Call
	firstSeen bool // Hooks.FirstResponse has accepted a response
}

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
					p.Hooks.TooManyPending(FromServer, e)
				}
			} else {
				t.removeReserved(f, e)
			}
		case Notification:
			t.removeReserved(f, e)
			if e.Cancels == nil || string(e.Method) != methodCancelled {
				break
			}
			// The server cancels its own request or, in 2026-07-28 ("Subscriptions"), ends
			// a subscription of the client.
			if !p.ServerRequests.Drop(e.Cancels, func(*Call) bool { return true }) {
				p.Requests.Drop(e.Cancels, func(c *Call) bool { return string(c.Method) == "subscriptions/listen" })
			}
		default: // no message, but for a reader that ignores case
			t.removeReserved(f, e)
		}
	}
	return p.removeMessages(f, cuts)
}

func (t *serverTracker) trackResponse(f *Frame, e *Envelope) (drop bool) {
	p := t.p
	var c *Call
	if e.Trackable() && p.Requests.takeFor(e.ID, e, &t.call) {
		c = &t.call
	}
	if !t.firstSeen {
		t.firstSeen = p.Hooks.FirstResponse == nil || p.Hooks.FirstResponse(e, c)
	}
	if c != nil && c.Answered || c == nil && p.Hooks.UnmatchedResponse != nil && p.Hooks.UnmatchedResponse(e) {
		return true
	}
	t.removeReserved(f, e)
	if c != nil && p.Hooks.ServerResponse != nil {
		p.Hooks.ServerResponse(f, e, c)
	}
	return false
}

func (t *serverTracker) removeReserved(f *Frame, e *Envelope) {
	if len(e.Reserved) > 0 && t.p.Hooks.ReservedMembers != nil {
		t.p.Hooks.ReservedMembers(f, e)
	}
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// Conn is one peer: it reads the frames that the peer sends and writes the frames for it.
// The Conn of a server is an Upstream.
type Conn struct {
	*Reader
	*Writer
}

// NewConn returns a Conn over two streams. limit has the meaning that it has for
// NewReader.
func NewConn(in io.Reader, out io.Writer, limit int64) *Conn {
	return &Conn{NewReader(in, limit), NewWriter(out)}
}

// Upstream receives the client's frames. Send blocks while the other side does not read.
// The frame is valid until Send returns.
type Upstream interface{ Send(*Frame) error }

// Side is one end of the connection.
type Side uint8

const (
	FromClient Side = iota
	FromServer
)

// Hooks are the functions that a Proxy calls. Each may be nil. They run on the goroutine
// of RunClient or RunServer before the frame is forwarded. Frame, envelope and call are
// valid until the hook returns. A hook that receives a frame may edit it.
type Hooks struct {
	// ClientFrame is called for every frame of the client, before any other hook. When it returns true, the frame is not
	// forwarded, and the hook is responsible for the responses.
	ClientFrame func(f *Frame) (drop bool)
	// ClientRequest is called for every request of the client. When it returns true, the
	// request is not forwarded and the hook is responsible for the response.
	ClientRequest func(f *Frame, e *Envelope) (answered bool)
	// OwnResponse is called for every response of the client with an id. When it returns true, the response was to a
	// request of ours, and is not forwarded.
	OwnResponse func(f *Frame, e *Envelope) (ours bool)
	// ClientCancels is called for every request that the client cancels. When it returns true, the server never got the
	// request, and gets no notification either.
	ClientCancels func(id []byte) (kept bool)
	// ClientResponse is called for every response of the client to a request of the
	// server.
	ClientResponse func(f *Frame, e *Envelope, c *Call)

	// ServerFrame is called for every frame of the server with messages, before any of its
	// messages is matched. When it returns true, the frame is not forwarded, and no other
	// hook is called for it.
	ServerFrame func(f *Frame) (drop bool)
	// FirstResponse is called for the responses of a server until it returns true for one,
	// which then counts as the server's first. This starts over with each RunServer. c is
	// nil for a response that matches no request.
	FirstResponse func(e *Envelope, c *Call) bool
	// ReservedMembers is called for every message of the server that carries reserved
	// members: see Envelope.Reserved. It is called before ServerResponse.
	ReservedMembers func(f *Frame, e *Envelope)
	// ServerResponse is called for every response of the server to a request of the
	// client.
	ServerResponse func(f *Frame, e *Envelope, c *Call)
	// UnmatchedResponse is called for every response of the server that matches no request
	// of the client. When it returns true, the response is not forwarded.
	UnmatchedResponse func(e *Envelope) (drop bool)
	// ServerRequest is called for every request of the server. When it returns true, the
	// request is not forwarded and the hook is responsible for the response.
	ServerRequest func(e *Envelope) bool
	// TooManyPending is called for every request that is not forwarded because its table is full, its
	// id longer than MaxID, or the client's frames are held back by Pause.
	TooManyPending func(from Side, e *Envelope)
	// Oversized is called for every frame that is dropped because it is Oversized: see Frame.
	// Requests in it were not added to a table, and responses in it were not removed from theirs.
	Oversized func(from Side, f *Frame)
	// NonMessage is called for every line of the server that is not forwarded because it is not
	// an MCP message.
	NonMessage func(f *Frame)
}
