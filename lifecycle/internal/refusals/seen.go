package refusals

import (
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Seen holds which refusals of a server's processes are told already.
type Seen struct {
	mu     sync.Mutex
	all    map[string]*seenDenial
	count  int  // of the refusals at the last look
	untold bool // some of them were not told
}

// seenDenial is a kind of refusal, which a denial counts.
type seenDenial struct {
	told int  // how many of them are told
	new  bool // there were more at the look before
	wait int  // looks until the next ones are told
	next int  // wait, after that
}

// maxWait bounds how many looks, of a second each, refusals that are repeated wait to be told.
const maxWait = 60

func denialKey(d policy.Denial) string {
	return strings.Join([]string{string(d.Axis), d.Operation, d.Target, string(d.Reason), strings.Join(d.Arguments, "\x01")}, "\x00")
}

func (s *Seen) of(d policy.Denial) *seenDenial {
	if s.all == nil {
		s.all = map[string]*seenDenial{}
	}
	key := denialKey(d)
	if s.all[key] == nil {
		s.all[key] = new(seenDenial)
	}
	return s.all[key]
}

// Tell notes the denials that a diagnosis has told. They are redacted.
func (s *Seen) Tell(denials []policy.Denial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range denials {
		e := s.of(d)
		e.told, e.new = max(e.told, d.Count, 1), false
	}
}

// Due reports whether a denial is to be told now. A new one waits for one look: the call during which it
// happened may fail, and then the diagnosis tells it. One that is repeated waits longer and longer.
func (s *Seen) Due(d policy.Denial) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of(d)
	n := max(d.Count, 1) - e.told
	switch {
	case n <= 0:
		e.new = false
		return false
	case !e.new:
		e.new, s.untold = true, true
		return false
	case e.wait > 0:
		e.wait, s.untold = e.wait-1, true
		return false
	}
	e.told, e.new = e.told+n, false
	e.next = min(2*e.next+4, maxWait)
	e.wait = e.next
	return true
}

// MayHave reports whether there is something to tell of denials: a look at each of them costs.
func (s *Seen) MayHave(denials []policy.Denial) bool {
	count := 0
	for _, d := range denials {
		count += max(d.Count, 1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	may := count > 0 && (s.untold || count != s.count)
	s.count, s.untold = count, false
	return may
}
