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

	Requests *Pending // of the client
	Reverse  *Pending // of the server: ids of the two directions are unrelated

	batch uint64
}

// NewProxy returns a Proxy for a client.
func NewProxy(client *Conn, hooks Hooks) *Proxy {
	return &Proxy{Client: client, Hooks: hooks, Requests: NewPending(), Reverse: NewPending()}
}

// RunClient forwards the client's frames to up until the client ends, which is
// no error. Lines that are not JSON are forwarded as they are: what to say to
// them is the server's business. An error of up ends it too.
func (p *Proxy) RunClient(up Upstream) error {
	var call Call
	for {
		f, err := p.Client.Next()
		if err != nil {
			return clean(err)
		}
		if f.Oversized {
			if p.Hooks.Oversized != nil {
				p.Hooks.Oversized(FromClient, f)
			}
			continue
		}
		if !f.Junk() {
			p.trackClient(f, &call)
		}
		if err := up.Send(f); err != nil {
			return err
		}
	}
}

// trackClient enters requests before they are sent, since the answer may come
// while Send is still returning.
func (p *Proxy) trackClient(f *Frame, call *Call) {
	var batch uint64
	if f.Batch {
		p.batch++
		batch = p.batch
	}
	for i := range f.Messages {
		e := &f.Messages[i]
		switch e.Kind() {
		case Request:
			if e.Trackable() {
				p.Requests.Add(e, time.Now(), batch)
			}
			if p.Hooks.Request != nil {
				p.Hooks.Request(f, e)
			}
		case Response:
			if e.Trackable() {
				p.Reverse.Take(e.ID, call)
			}
		}
	}
}

// RunServer forwards the frames of one server to the client until the server
// ends, which is no error. What is no MCP message is diverted to Hooks.Junk, and
// an answer to a request that is already answered is dropped.
func (p *Proxy) RunServer(server *Conn) error {
	var call Call
	answered := false
	for {
		f, err := server.Next()
		if err != nil {
			return clean(err)
		}
		switch {
		case f.Oversized:
			if p.Hooks.Oversized != nil {
				p.Hooks.Oversized(FromServer, f)
			}
			continue
		case f.Junk():
			if p.Hooks.Junk != nil {
				p.Hooks.Junk(f)
			}
			continue
		}
		drop := false
		for i := range f.Messages {
			e := &f.Messages[i]
			switch e.Kind() {
			case Response:
				if !answered {
					answered = true
					if p.Hooks.FirstAnswer != nil {
						p.Hooks.FirstAnswer()
					}
				}
				if !e.Trackable() || !p.Requests.Take(e.ID, &call) {
					break
				}
				if call.Answered {
					drop = len(f.Messages) == 1
				} else if p.Hooks.Response != nil {
					p.Hooks.Response(f, e, &call)
				}
			case Request:
				if e.Trackable() {
					p.Reverse.Add(e, time.Now(), 0)
				}
			case Notification:
				if p.Hooks.Progress != nil && string(e.Method) == "notifications/progress" {
					p.Hooks.Progress(e)
				}
			}
		}
		if drop {
			continue
		}
		if err := p.Client.Send(f); err != nil {
			return fmt.Errorf("%w: %w", ErrClientGone, err)
		}
	}
}

func clean(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
