package refusals

import (
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
)

// Fresh holds the refusals that are to be written down.
type Fresh struct {
	mu      sync.Mutex
	all     []diagnostics.Refusal
	omitted int // how many more there were
}

const maxFresh = 200 // Fresh.all

// Note adds a diagnosis. Those that are alike become one.
func (f *Fresh) Note(d diagnostics.Diagnosis, count int) {
	now, key := time.Now(), d.Key()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.all {
		if r := &f.all[i]; r.Key() == key {
			r.Time, r.Count = now, r.Count+count
			return
		}
	}
	if len(f.all) == maxFresh {
		f.omitted += count
		return
	}
	f.all = append(f.all, diagnostics.Refusal{Time: now, Count: count, Diagnosis: d})
}

// Take returns the refusals since the last call.
func (f *Fresh) Take() []diagnostics.Refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.all
	if len(all) > 0 {
		all[len(all)-1].Omitted = f.omitted
	}
	f.all, f.omitted = nil, 0
	return all
}
