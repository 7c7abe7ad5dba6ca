package stateless

import (
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	// preparedFor is how long jails are kept prepared after the last call that needed one.
	preparedFor = time.Minute
	// preparedAfter is how long no call must have needed a jail before others are prepared: these would take the
	// processors from calls that are under way.
	preparedAfter = 30 * time.Millisecond
)

// prepared says which jails to prepare: for each profile as many as calls under it have waited for at once. A
// session without calls has none.
type prepared struct {
	mu      sync.Mutex
	demands []*demand // the one of the last call comes first
	last    time.Time // of a call that needed a jail
}

// demand is what calls have needed whose profiles have the same jail.
type demand struct {
	profile       *policy.Profile // of the last call
	waiting, most int
	last          time.Time
}

// maxDemands bounds the profiles that are compared for each call.
const maxDemands = 8

// begin notes that a call under a profile waits for its jail, until the call of end.
func (s *prepared) begin(p *policy.Profile, now time.Time) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.demands, func(d *demand) bool { return d.profile.SameJail(p) })
	d := &demand{}
	if i >= 0 {
		d = s.demands[i]
		s.demands = slices.Delete(s.demands, i, i+1)
	} else { // the tool has had another profile until now
		s.demands = slices.DeleteFunc(s.demands, func(d *demand) bool { return d.profile.Tool == p.Tool })
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

// wanted returns a profile for each jail to prepare, at most so many. It is too early for any if ok is false.
func (s *prepared) wanted(now time.Time, most int) (profiles []*policy.Profile, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demands = slices.DeleteFunc(s.demands, func(d *demand) bool { return now.Sub(d.last) > preparedFor })
	for _, d := range s.demands {
		for range min(d.most, most-len(profiles)) {
			profiles = append(profiles, d.profile)
		}
	}
	return profiles, now.Sub(s.last) >= preparedAfter
}
