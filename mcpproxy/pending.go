package mcpproxy

import (
	"bytes"
	"slices"
	"sync"
	"time"
)

// Call is a request that waits for its response.
type Call struct {
	ID     []byte // the raw token, as the response must carry it
	Method []byte // its first MaxTool bytes
	Tool   []byte // the first MaxTool bytes of params.name of a tools/call
	Start  time.Time
	Batch  uint64 // requests of one batch have the same number; 0 outside one
	Size   int64  // of the request, in bytes

	// Answered means that we have responded in the peer's place. A response that the peer
	// still sends must not be forwarded.
	Answered bool
	// Noted is a mark for the callers of Each.
	Noted bool
	// Cancelled means that its sender has taken it back.
	Cancelled bool
	// Logs means that its sender wants log messages until the response: see WantsLogs.
	Logs bool
	// Line is the request as its sender has sent it, if Keep was asked for it.
	Line []byte
}

// Pending is the table of the open requests of one direction. It is safe for concurrent use.
type Pending struct {
	// Left is called once for each request that gets no further: with the response of the peer, or with nil if it was
	// cancelled, or if we have responded. It may be nil.
	Left func(c *Call, response *Envelope)

	mu    sync.Mutex
	calls map[string][]*Call // by IDKey, the oldest first
	count int
	shut  bool // nothing is added: see shutEmpty
}

// Bounds of a table. Without what Keep keeps, it takes at worst MaxOpen × (2×MaxID + 2×MaxTool + 256) bytes, which is 22 MiB.
const (
	MaxOpen = 8192 // requests, twice as many as a batch may have
	MaxKept = 1000 // open requests, beyond which none is kept whole
	MaxID   = 1024 // bytes of an id
	MaxTool = 256  // bytes of a method, and of a tool's name, that are kept. MCP asks for 128 at most
)

// NewPending returns an empty table.
func NewPending() *Pending { return &Pending{calls: map[string][]*Call{}} }

// Add records the request of an envelope that is Trackable. It returns false and records
// nothing when the table is full or shut, or the id too long.
func (p *Pending) Add(e *Envelope, start time.Time, batch uint64) bool {
	return p.add(e, start, batch) != nil
}

func (p *Pending) add(e *Envelope, start time.Time, batch uint64) *Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count == MaxOpen || len(e.ID) > MaxID || p.shut {
		return nil
	}
	c := NewCall(e, start)
	c.Batch = batch
	key := IDKey(e.ID)
	p.calls[key] = append(p.calls[key], c)
	p.count++
	return c
}

// NewCall returns the call of a request.
func NewCall(e *Envelope, start time.Time) *Call {
	c := &Call{ID: bytes.Clone(e.ID[:min(len(e.ID), MaxID)]), Method: bytes.Clone(e.Method[:min(len(e.Method), MaxTool)]), Start: start, Size: e.Self.End - e.Self.Start}
	if string(e.Method) == methodToolsCall {
		c.Tool = bytes.Clone(e.Name[:min(len(e.Name), MaxTool)])
	}
	return c
}

// Take removes the oldest request with the id, copies it into c, and reports whether there was
// one. We have responded to it, or do so now.
func (p *Pending) Take(id []byte, c *Call) bool { return p.takeFor(id, nil, c) }

// takeFor is Take for a response of the peer.
func (p *Pending) takeFor(id []byte, response *Envelope, c *Call) bool {
	taken := p.take(id, func(*Call) bool { return true })
	if taken == nil {
		return false
	}
	*c = *taken
	if !c.Answered {
		p.Leave(c, response)
	}
	return true
}

// Keep keeps the text of the newest request with the id until its response. It returns false if the text is not in memory,
// or if more than MaxKept requests are open.
func (p *Pending) Keep(f *Frame, e *Envelope) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, c := f.Slice(e.Self), p.newest(e)
	if text == nil || c == nil || p.count > MaxKept {
		return false
	}
	c.Line = append(bytes.Clone(text), '\n')
	return true
}

// WantsLogs sets Logs of the newest request with the id.
func (p *Pending) WantsLogs(e *Envelope) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.newest(e); c != nil {
		c.Logs = true
	}
}

// newest returns the newest request with the id, or nil. The caller holds mu.
func (p *Pending) newest(e *Envelope) *Call {
	same := p.calls[IDKey(e.ID)]
	if len(same) == 0 || !e.Trackable() {
		return nil
	}
	return same[len(same)-1]
}

// Withdraw removes the newest request with the id, which gets its response later.
func (p *Pending) Withdraw(id []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.calls[IDKey(id)]); n > 0 {
		p.remove(IDKey(id), n-1)
	}
}

// Leave calls Left for a request that is not in the table.
func (p *Pending) Leave(c *Call, response *Envelope) {
	if p.Left != nil {
		p.Left(c, response)
	}
}

// Drop removes the oldest request with the id for which match returns true, and reports whether
// there was one. A request that is Answered stays, because a late response to it must not be
// forwarded.
func (p *Pending) Drop(id []byte, match func(*Call) bool) bool {
	c := p.take(id, func(c *Call) bool { return !c.Answered && match(c) })
	if c == nil {
		return false
	}
	c.Cancelled = true
	p.Leave(c, nil)
	return true
}

func (p *Pending) take(id []byte, match func(*Call) bool) *Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := IDKey(id)
	same := p.calls[key]
	i := slices.IndexFunc(same, match)
	if i < 0 {
		return nil
	}
	return p.remove(key, i)
}

// remove removes a request of those with the same id. The caller holds mu.
func (p *Pending) remove(key string, i int) *Call {
	same := p.calls[key]
	c := same[i]
	p.calls[key] = slices.Delete(same, i, i+1)
	if len(same) == 1 {
		delete(p.calls, key)
	}
	p.count--
	return c
}

// Answer marks the matching requests as Answered and returns copies of them, in no order.
// They stay in the table, so that a late response of the peer is recognised.
func (p *Pending) Answer(match func(*Call) bool) []Call {
	var out []Call
	p.Each(func(c *Call) {
		if match(c) {
			c.Answered = true
			out = append(out, *c)
		}
	})
	for i := range out {
		p.Leave(&out[i], nil)
	}
	return out
}

// Each calls look for every request that is not Answered, in no order. look may set Noted and must
// not change other fields. c is valid until look returns.
func (p *Pending) Each(look func(c *Call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, same := range p.calls {
		for _, c := range same {
			if !c.Answered {
				look(c)
			}
		}
	}
}

// Len returns the number of requests in the table, Answered or not.
func (p *Pending) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// Has reports whether a request that is not Answered matches.
func (p *Pending) Has(match func(*Call) bool) (has bool) {
	p.Each(func(c *Call) { has = has || match(c) })
	return has
}

// shutEmpty shuts the table, if every request in it is Answered, and reports whether it has.
func (p *Pending) shutEmpty() bool {
	open := false
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, same := range p.calls {
		open = open || slices.ContainsFunc(same, func(c *Call) bool { return !c.Answered })
	}
	p.shut = !open
	return p.shut
}

// Open ends what Proxy.Pause has begun for the table of the server's requests: there may be more of them.
func (p *Pending) Open() {
	p.mu.Lock()
	p.shut = false
	p.mu.Unlock()
}

// Forget removes the requests that are not to be kept: they can have no response any more.
func (p *Pending) Forget(keep func(*Call) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count = 0
	for key, same := range p.calls {
		if p.calls[key] = slices.DeleteFunc(same, func(c *Call) bool { return c.Answered || !keep(c) }); len(p.calls[key]) == 0 {
			delete(p.calls, key)
		}
		p.count += len(p.calls[key])
	}
}
