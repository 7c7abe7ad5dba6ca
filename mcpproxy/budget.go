package mcpproxy

import "sync"

// Memory bounds what a session keeps beside the frames that it is reading or sending: open
// requests, and frames that wait. It is in bytes, and each entry counts with its fixed cost.
const Memory = 32 << 20

// A Budget bounds the memory that several parties take together.
type Budget struct {
	mu    sync.Mutex
	limit int64
	used  int64
}

// NewBudget returns a Budget of so many bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Share is what one party has of a Budget.
type Share struct {
	budget *Budget
	floor  int64 // the share always gets this much
	used   int64 // under the mutex of the budget
}

// Share returns the share of one more party. The party can always use floor bytes, even if the others
// have used up the budget.
func (b *Budget) Share(floor int64) *Share { return &Share{budget: b, floor: floor} }

// Take counts n bytes. It returns false, and counts nothing, if all are used up, or if half are and
// the share has an eighth.
func (s *Share) Take(n int64) bool {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	mine, all := s.used+n, b.used+n
	if mine > s.floor && (all > b.limit || all > b.limit/2 && mine > b.limit/8) {
		return false
	}
	s.used, b.used = mine, all
	return true
}

// Add counts n bytes, whether there is room or not.
func (s *Share) Add(n int64) {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	s.used, b.used = s.used+n, b.used+n
}

// Give takes back what Take or Add has counted.
func (s *Share) Give(n int64) { s.Add(-n) }

// The memory of a detached frame and of an envelope, without their bytes and texts.
const (
	frameCost    = 512
	envelopeCost = 768
)

// Cost returns how much memory a detached frame takes, which can be many times its bytes. One that
// lies in a file counts like the largest in memory.
func (f *Frame) Cost() int64 {
	n := frameCost + min(f.Size, maxInMemory)
	for i := range f.Messages {
		n += envelopeCost
		for _, text := range f.Messages[i].captured() {
			n += int64(len(*text))
		}
	}
	for _, e := range f.edits {
		n += int64(len(e.text))
	}
	return n
}
