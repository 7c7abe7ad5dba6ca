package stateless

import (
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	// preparedFor is how long jails are kept prepared after the last call that needed one.
	preparedFor = time.Minute
	// prepareAfter is how long no call must have needed a jail before others are prepared: these would take
	// the processors from calls that are under way.
	prepareAfter = 30 * time.Millisecond
	// maxDemands bounds the profiles that are compared for each call.
	maxDemands = 8
)

// demand is how many calls with the same jail have waited for it at once. As many jails are kept prepared.
type demand struct {
	profile       *policy.Profile // of the last call
	waiting, most int
	last          time.Time
}

// beginCall notes that a call waits for its process, until the call of end. Meanwhile the pool starts no
// warm workers.
func (p *pool) beginCall(profile *policy.Profile, now time.Time) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &demand{}
	if i := slices.IndexFunc(p.demands, func(d *demand) bool { return d.profile.SameJail(profile) }); i >= 0 {
		d = p.demands[i]
	}
	// The tool may have had another profile until now.
	p.demands = slices.DeleteFunc(p.demands, func(o *demand) bool { return o == d || o.profile.Tool == profile.Tool })
	p.demands = slices.Insert(p.demands, 0, d) // the one of the last call comes first
	p.demands = p.demands[:min(len(p.demands), maxDemands)]
	d.waiting++
	p.startingCalls++
	d.profile, d.most, d.last = profile, max(d.most, d.waiting), now
	return func() {
		p.mu.Lock()
		d.waiting--
		p.startingCalls--
		p.mu.Unlock()
		p.session.wake()
	}
}

// prepare has jails prepared for the next calls, when none needs one for a while.
func (p *pool) prepare(now time.Time) {
	if p.session.options.Prepare == nil {
		return
	}
	p.mu.Lock()
	if p.startingCalls > 0 {
		p.mu.Unlock()
		return
	}
	soon := len(p.demands) > 0 && now.Sub(p.demands[0].last) < prepareAfter
	profiles := p.wanted(now)
	p.mu.Unlock()
	if soon {
		time.AfterFunc(prepareAfter, p.session.wake)
	} else {
		p.session.options.Prepare(profiles)
	}
}

// wanted returns a profile for each jail to prepare. The caller holds mu.
func (p *pool) wanted(now time.Time) (profiles []*policy.Profile) {
	p.demands = slices.DeleteFunc(p.demands, func(d *demand) bool { return now.Sub(d.last) > preparedFor })
	for _, d := range p.demands {
		for range min(d.most, p.session.options.MaxCalls-len(profiles)) {
			profiles = append(profiles, d.profile)
		}
	}
	return profiles
}
