package lifecycle

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// setLevel answers for the server, if it has said that it knows levels, and has each
// process told from then on.
func (p *perCall) setLevel(ctx context.Context, rq *request) {
	e := &rq.frame.Messages[0]
	params := bytes.Clone(rq.frame.Slice(e.Params))
	if params == nil || !p.lists.logs() {
		p.begin(func() { p.ask(ctx, rq) })
		return
	}
	told := map[*child]*mcpproxy.Frame{}
	p.mu.Lock()
	p.level = params
	for c := range p.children {
		if c.greeted && c.hello != nil && c.hello.era == mcpproxy.Legacy {
			told[c] = p.setLevelTo(c)
		}
	}
	p.mu.Unlock()
	for c, f := range told {
		c.out.offer(f)
	}
	p.result(rq, "result", []byte("{}"))
}

// setLevelTo is the client's logging/setLevel with an id of ours, for one process. The
// caller holds mu.
func (p *perCall) setLevelTo(c *child) *mcpproxy.Frame {
	p.lastOwn++
	id := quoted(fmt.Sprintf("%s%d", p.private, p.lastOwn))
	c.level.sent(id)
	return mcpproxy.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"logging/setLevel","params":%s}`+"\n", id, p.level))
}

// settle waits until the process has answered the last logging/setLevel: servers may
// work on requests in any order, and the client has had its answer before it went on.
// One that does not answer within times.probe is not waited for.
func (c *child) settle(ctx context.Context) {
	soon := time.NewTimer(c.client.times.probe)
	defer soon.Stop()
	select {
	case <-c.level.done():
	case <-soon.C:
	case <-c.ended:
	case <-ctx.Done():
	}
}

// levelled is a logging/setLevel under way. The zero one is none.
type levelled struct {
	mu   sync.Mutex
	key  string
	over chan struct{}
}

func (l *levelled) sent(id []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil || isClosed(l.over) {
		l.over = make(chan struct{})
	}
	l.key = mcpproxy.IDKey(id)
}

// answered reports whether a message is the answer.
func (l *levelled) answered(e *mcpproxy.Envelope) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == "" || e.Kind() != mcpproxy.Response || mcpproxy.IDKey(e.ID) != l.key {
		return false
	}
	l.key = ""
	close(l.over)
	return true
}

func (l *levelled) done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil {
		l.over = make(chan struct{})
		close(l.over)
	}
	return l.over
}
