package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

var (
	errEnded   = errors.New("the process has ended")
	errUnheard = errors.New("the process has ended and not read what it was asked")
	errSilent  = errors.New("the process is silent")
)

// told is what has become of a request of our own: an answer that is held in memory,
// or why it cannot be used.
type told struct {
	frame *mcpproxy.Frame
	unfit *diagnostics.Diagnosis
}

// Error implements error.
func (t told) Error() string { return t.unfit.What }

// take returns the answer, if it is one.
func (t told) take() (*mcpproxy.Frame, error) {
	if t.unfit != nil {
		return nil, t
	}
	return t.frame, nil
}

// unheld is the diagnosis of an answer to us that is beyond what is held in memory.
func (c *child) unheld(f *mcpproxy.Frame) *diagnostics.Diagnosis {
	return &diagnostics.Diagnosis{
		Code: -32603, Stage: diagnostics.StageBoot, Attribution: diagnostics.Certain, Server: c.session.name, Tool: c.tool,
		What: fmt.Sprintf("server %q: an answer of %d MiB to a handshake, or to what is asked for each session, cannot be looked at", c.session.name, f.Size>>20),
		Fix:  "set stateful = true: then answers pass as they are",
	}
}

// ask sends a request of our own and waits for the answer.
func (c *child) ask(ctx context.Context, f *mcpproxy.Frame, limit time.Duration) (*mcpproxy.Frame, error) {
	p := c.session
	p.mu.Lock()
	p.lastOwn++
	id := strconv.Quote(p.private + strconv.FormatInt(p.lastOwn, 10))
	p.mu.Unlock()
	answer, key := make(chan told, 1), mcpproxy.IDKey([]byte(id))
	c.mu.Lock()
	c.own[key] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.own, key)
		c.used = time.Now()
		c.freed.Broadcast()
		c.mu.Unlock()
	}()
	f.Replace(f.Messages[0].IDAt, []byte(id))
	at := new(place)
	waiting := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	c.out.put(waiting, f, at)
	select {
	case got := <-answer:
		return got.take()
	case <-c.ended:
		select {
		case got := <-answer:
			return got.take()
		default:
		}
		if c.unheard(at) {
			return nil, errUnheard
		}
		return nil, errEnded
	case <-waiting.Done():
		if ctx.Err() == nil {
			return nil, errSilent
		}
		return nil, ctx.Err()
	}
}

// waits removes the place where the answer to a request of our own is waited for.
func (c *child) waits(e *mcpproxy.Envelope) chan told {
	if e.Kind() != mcpproxy.Response || !e.Trackable() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waits := c.own[mcpproxy.IDKey(e.ID)]
	delete(c.own, mcpproxy.IDKey(e.ID))
	return waits
}
