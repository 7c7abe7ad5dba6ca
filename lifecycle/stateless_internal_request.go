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
	errExited  = errors.New("the process has ended")
	errNotRead = errors.New("the process has ended and not read what it was asked")
	errTimeout = errors.New("the process is silent")
)

// reply is what has become of a request of our own: an answer that is held in memory,
// or why it cannot be used.
type reply struct {
	frame    *mcpproxy.Frame
	rejected *diagnostics.Diagnosis
}

// Error implements error.
func (t reply) Error() string { return t.rejected.What }

// result returns the answer, if it is one.
func (t reply) result() (*mcpproxy.Frame, error) {
	if t.rejected != nil {
		return nil, t
	}
	return t.frame, nil
}

// tooLargeToBuffer is the diagnosis of an answer to us that is beyond what is held in memory.
func (c *worker) tooLargeToBuffer(f *mcpproxy.Frame) *diagnostics.Diagnosis {
	return &diagnostics.Diagnosis{
		Code: -32603, Stage: diagnostics.StageBoot, Attribution: diagnostics.Certain, Server: c.session.serverName, Tool: c.tool,
		What: fmt.Sprintf("server %q: an answer of %d MiB to a handshake, or to what is asked for each session, cannot be looked at", c.session.serverName, f.Size>>20),
		Fix:  "set stateful = true: then answers pass as they are",
	}
}

// request sends a request of our own and waits for the answer.
func (c *worker) request(ctx context.Context, f *mcpproxy.Frame, limit time.Duration) (*mcpproxy.Frame, error) {
	p := c.session
	p.mu.Lock()
	p.lastInternalRequest++
	id := strconv.Quote(p.idPrefix + strconv.FormatInt(p.lastInternalRequest, 10))
	p.mu.Unlock()
	answer, key := make(chan reply, 1), mcpproxy.IDKey([]byte(id))
	c.mu.Lock()
	c.waiters[key] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiters, key)
		c.lastUsed = time.Now()
		c.freed.Broadcast()
		c.mu.Unlock()
	}()
	f.Replace(f.Messages[0].IDAt, []byte(id))
	at := new(delivery)
	waiting := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	c.queue.enqueue(waiting, f, at)
	select {
	case got := <-answer:
		return got.result()
	case <-c.ended:
		select {
		case got := <-answer:
			return got.result()
		default:
		}
		if c.notRead(at) {
			return nil, errNotRead
		}
		return nil, errExited
	case <-waiting.Done():
		if ctx.Err() == nil {
			return nil, errTimeout
		}
		return nil, ctx.Err()
	}
}

// waiter removes the place where the answer to a request of our own is waited for.
func (c *worker) waiter(e *mcpproxy.Envelope) chan reply {
	if e.Kind() != mcpproxy.Response || !e.Trackable() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waits := c.waiters[mcpproxy.IDKey(e.ID)]
	delete(c.waiters, mcpproxy.IDKey(e.ID))
	return waits
}
