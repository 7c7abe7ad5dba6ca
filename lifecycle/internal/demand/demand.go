// Package demand knows how many jails the calls of a session need at once.
package demand

import (
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	// preparedFor is how long jails are kept prepared after the last call that needed one.
	preparedFor = time.Minute
	// After is how long no call must have needed a jail before others are prepared: these would take the
	// processors from calls that are under way.
	After = 30 * time.Millisecond
)

// Demand says which jails to prepare: for each profile as many as calls under it have waited for at once. A
// session without calls has none.
type Demand struct {
	mu      sync.Mutex
	demands []*one    // the one of the last call comes first
	last    time.Time // of a call that needed a jail
}

// one is what calls have needed whose profiles have the same jail.
type one struct {
	profile       *policy.Profile // of the last call
	waiting, most int
	last          time.Time
}

// maxDemands bounds the profiles that are compared for each call.
const maxDemands = 8

// Begin notes that a call under a profile waits for its jail, until the call of end.
func (s *Demand) Begin(p *policy.Profile, now time.Time) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.demands, func(d *one) bool { return d.profile.SameJail(p) })
	d := &one{}
	if i >= 0 {
		d = s.demands[i]
		s.demands = slices.Delete(s.demands, i, i+1)
	} else { // the tool has had another profile until now
		s.demands = slices.DeleteFunc(s.demands, func(d *one) bool { return d.profile.Tool == p.Tool })
	}
	s.demands = slices.Insert(s.demands, 0, d)
	s.demands = s.demands[:min(len(s.demands), maxDemands)]
	d.waiting++
	d.profile, d.most, d.last, s.last = p, max(d.most, d.waiting), now, now
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		d.waiting--
	}
}

// Wanted returns a profile for each jail to prepare, at most so many. It is too early for any if ok is false.
func (s *Demand) Wanted(now time.Time, most int) (profiles []*policy.Profile, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demands = slices.DeleteFunc(s.demands, func(d *one) bool { return now.Sub(d.last) > preparedFor })
	for _, d := range s.demands {
		for range min(d.most, most-len(profiles)) {
			profiles = append(profiles, d.profile)
		}
	}
	return profiles, now.Sub(s.last) >= After
}
