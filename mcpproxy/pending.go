package mcpproxy

import (
	"bytes"
	"hash/maphash"
	"sync"
	"time"
)

// Call is a request that waits for its answer.
type Call struct {
	ID     []byte // the raw token, as the answer has to carry it
	Method []byte
	Tool   []byte // params.name of a tools/call
	Start  time.Time
	Batch  uint64 // requests of one batch have the same number; 0 outside of one

	// Answered: somebody has answered in the peer's stead. What the peer still
	// says to it must not be forwarded.
	Answered bool
	// Noted is for whoever looks through the table with Each.
	Noted bool
}

// Pending is the table of the requests of one direction. It is safe for
// concurrent use and allocates nothing once it is warm.
type Pending struct {
	mu         sync.Mutex
	seed       maphash.Seed
	hashMask   uint64           // of hashes; tests clear it to make all of them collide
	heads      map[uint64]int32 // hash of the id → first of a chain in slots
	slots      []slot
	free       int32 // first unused slot, chained by next; 0 none
	count      int
	heldBytes  int // bytes, as far as they depend on the peer
	limitBytes int // of held; 0: none
}

const (
	slotBytes     = 256 // what a request holds beside its texts, roughly
	keepTextBytes = 128 // bytes of each text that an unused slot keeps room for
)

type slot struct {
	call Call
	key  []byte // what ids are compared by: see appendKey
	next int32  // 1 + index
	used bool
}

// NewPending returns an empty table.
func NewPending() *Pending {
	return &Pending{seed: maphash.MakeSeed(), hashMask: ^uint64(0), heads: map[uint64]int32{}}
}

// Add remembers the request of an envelope that is Trackable. It reports false,
// and does nothing, when the table is full.
func (p *Pending) Add(e *Envelope, start time.Time, batch uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limitBytes > 0 && p.heldBytes > p.limitBytes {
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
	c.Method = append(c.Method[:0], e.Method...)
	c.Tool = c.Tool[:0]
	if string(e.Method) == methodToolsCall {
		c.Tool = append(c.Tool, e.Name...)
	}
	c.Start, c.Batch, c.Answered, c.Noted = start, batch, false, false
	h := maphash.Bytes(p.seed, s.key) & p.hashMask
	s.next = 0
	if head, ok := p.heads[h]; ok { // behind the others: the oldest is answered first
		for p.slots[head-1].next != 0 {
			head = p.slots[head-1].next
		}
		p.slots[head-1].next = at
	} else {
		p.heads[h] = at
	}
	p.count++
	p.heldBytes += s.bytes()
	return true
}

// Take removes the request with the id and copies it into c, whose buffers are
// reused.
func (p *Pending) Take(id []byte, c *Call) bool { return p.take(id, c, nil) }

// Drop removes the request with the id, if it matches. One that is Answered stays:
// what the peer still says to it must not be forwarded.
func (p *Pending) Drop(id []byte, match func(*Call) bool) bool {
	var c Call
	return p.take(id, &c, func(c *Call) bool { return !c.Answered && match(c) })
}

func (p *Pending) take(id []byte, c *Call, match func(*Call) bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var room [64]byte
	key := appendKey(room[:0], id)
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

// bytes is what a request adds to Pending.held.
func (s *slot) bytes() int {
	return slotBytes + len(s.key) + len(s.call.ID) + len(s.call.Method) + len(s.call.Tool)
}

func (p *Pending) release(at int32) {
	s := &p.slots[at-1]
	p.heldBytes -= s.bytes()
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

// Answer marks the requests that match as answered in the peer's stead, and
// returns copies of them, in no order. They stay in the table for the peer's own
// answer to be recognised.
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

// Each looks at every request that is not answered in the peer's stead. It may
// set Noted, and nothing else; c is valid until look returns.
func (p *Pending) Each(look func(c *Call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.slots {
		if s := &p.slots[i]; s.used && !s.call.Answered {
			look(&s.call)
		}
	}
}

// Len returns how many requests are open, answered in the peer's stead or not.
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

// IDKey returns what ids, and progress tokens, are compared by: the same for two
// raw tokens that stand for one id.
func IDKey(id []byte) string {
	var room [64]byte
	return string(appendKey(room[:0], id))
}

// appendKey appends what an id is compared by. A number is its raw token:
// 9007199254740993 is not …992, and 1 is not 1.0. A string is its content,
// because peers escape the same string differently ("é" and "\u00e9"); its quote
// keeps it apart from a number.
func appendKey(dst, id []byte) []byte {
	if len(id) < 2 || id[0] != '"' || bytes.IndexByte(id, '\\') < 0 {
		return append(dst, id...)
	}
	dst = append(dst, '"')
	dst, _ = appendUnescaped(dst, id[1:len(id)-1])
	return append(dst, '"')
}
