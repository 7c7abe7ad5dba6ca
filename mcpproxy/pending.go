package mcpproxy

import (
	"bytes"
	"hash/maphash"
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

	// Answered means that we have responded in the peer's place. A response that the peer
	// still sends must not be forwarded.
	Answered bool
	// Noted is a mark for the callers of Each.
	Noted bool
}

// Pending is the table of the open requests of one direction. It is safe for concurrent
// use. It allocates nothing once it is warm.
type Pending struct {
	mu       sync.Mutex
	seed     maphash.Seed
	hashMask uint64           // applied to hashes; tests clear it to make them collide
	heads    map[uint64]int32 // hash of the id → first of a chain in slots
	slots    []slot
	free     int32 // first unused slot, chained by next; 0 for none
	count    int
}

// Bounds of a table. At worst it takes MaxOpen × (2×MaxID + 2×MaxTool + 256) bytes, which is 11 MiB.
const (
	MaxOpen = 4096 // requests, as many as a batch may have
	MaxID   = 1024 // bytes of an id
	MaxTool = 256  // bytes of a method, and of a tool's name, that are kept. MCP asks for 128 at most
)

const keepTextBytes = 128 // largest buffer that an unused slot keeps for each text

type slot struct {
	call Call
	key  []byte // the comparable form of the id: see appendKey
	next int32  // index of the next slot plus 1
	used bool
}

// NewPending returns an empty table.
func NewPending() *Pending {
	return &Pending{seed: maphash.MakeSeed(), hashMask: ^uint64(0), heads: map[uint64]int32{}}
}

// Add records the request of an envelope that is Trackable. It returns false and records
// nothing when the table is full, or the id too long.
func (p *Pending) Add(e *Envelope, start time.Time, batch uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count == MaxOpen || len(e.ID) > MaxID {
		return false
	}
	if p.free == 0 {
		p.slots = append(p.slots, slot{})
		p.free = int32(len(p.slots))
	}
	at := p.free
	s := &p.slots[at-1]
	p.free = s.next
	s.used = true
	s.key = appendKey(s.key[:0], e.ID)
	c := &s.call
	c.ID = append(c.ID[:0], e.ID...)
	c.Method = append(c.Method[:0], e.Method[:min(len(e.Method), MaxTool)]...)
	c.Tool = c.Tool[:0]
	if string(e.Method) == methodToolsCall {
		c.Tool = append(c.Tool, e.Name[:min(len(e.Name), MaxTool)]...)
	}
	c.Start, c.Batch, c.Answered, c.Noted = start, batch, false, false
	h := maphash.Bytes(p.seed, s.key) & p.hashMask
	s.next = 0
	if head, ok := p.heads[h]; ok { // at the end, since a response matches the oldest request
		for p.slots[head-1].next != 0 {
			head = p.slots[head-1].next
		}
		p.slots[head-1].next = at
	} else {
		p.heads[h] = at
	}
	p.count++
	return true
}

// Take removes the oldest request with the id, copies it into c, and reports whether there was
// one. The buffers of c are reused.
func (p *Pending) Take(id []byte, c *Call) bool { return p.take(id, c, nil) }

// Drop removes the oldest request with the id for which match returns true, and reports whether
// there was one. A request that is Answered stays, because a late response to it must not be
// forwarded.
func (p *Pending) Drop(id []byte, match func(*Call) bool) bool {
	var c Call
	return p.take(id, &c, func(c *Call) bool { return !c.Answered && match(c) })
}

func (p *Pending) take(id []byte, c *Call, match func(*Call) bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var buf [64]byte
	key := appendKey(buf[:0], id)
	h := maphash.Bytes(p.seed, key) & p.hashMask
	var before int32
	for at := p.heads[h]; at != 0; before, at = at, p.slots[at-1].next {
		s := &p.slots[at-1]
		if !bytes.Equal(s.key, key) || match != nil && !match(&s.call) {
			continue
		}
		copyCall(c, &s.call)
		switch {
		case before != 0:
			p.slots[before-1].next = s.next
		case s.next != 0:
			p.heads[h] = s.next
		default:
			delete(p.heads, h)
		}
		p.release(at)
		return true
	}
	return false
}

func (p *Pending) release(at int32) {
	s := &p.slots[at-1]
	for _, b := range []*[]byte{&s.key, &s.call.ID, &s.call.Method, &s.call.Tool} {
		if cap(*b) > keepTextBytes {
			*b = nil
		}
	}
	s.used = false
	s.next = p.free
	p.free = at
	p.count--
}

// Answer marks the matching requests as Answered and returns copies of them, in no order.
// They stay in the table, so that a late response of the peer is recognised.
func (p *Pending) Answer(match func(*Call) bool) []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Call
	for i := range p.slots {
		s := &p.slots[i]
		if s.used && !s.call.Answered && match(&s.call) {
			s.call.Answered = true
			out = append(out, Call{})
			copyCall(&out[len(out)-1], &s.call)
		}
	}
	return out
}

// Each calls look for every request that is not Answered. look may set Noted and must not
// change other fields. c is valid until look returns.
func (p *Pending) Each(look func(c *Call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.slots {
		if s := &p.slots[i]; s.used && !s.call.Answered {
			look(&s.call)
		}
	}
}

// Len returns the number of requests in the table, Answered or not.
func (p *Pending) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

func copyCall(dst, src *Call) {
	dst.ID = append(dst.ID[:0], src.ID...)
	dst.Method = append(dst.Method[:0], src.Method...)
	dst.Tool = append(dst.Tool[:0], src.Tool...)
	dst.Start, dst.Batch, dst.Answered, dst.Noted = src.Start, src.Batch, src.Answered, src.Noted
}

// IDKey returns the comparable form of an id or a progress token: it is the same for two
// raw tokens that denote the same id.
func IDKey(id []byte) string {
	var buf [64]byte
	return string(appendKey(buf[:0], id))
}

// appendKey appends the comparable form of an id. JSON-RPC 2.0, "Response object", wants the value
// of the id, so a number is compared by its value: 3, 3.0 and 3e0 are one id, and 9007199254740993
// differs from …992. A string is compared by its content, because peers escape the same string
// differently ("é" and "\u00e9"). Its quote distinguishes it from a number.
func appendKey(dst, id []byte) []byte {
	if len(id) > 0 && id[0] != '"' {
		return appendNumberKey(dst, id)
	}
	if len(id) < 2 || id[0] != '"' || bytes.IndexByte(id, '\\') < 0 {
		return append(dst, id...)
	}
	dst = append(dst, '"')
	dst, _ = appendUnescaped(dst, id[1:len(id)-1])
	return append(dst, '"')
}
