package plan

import (
	"reflect"
	"slices"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A Cache keeps plans for starts that follow. Compiling is pure: from an equal profile and equal facts comes an
// equal plan. So the facts are asked of the host for each start, and any other answer leads to another plan. The
// methods may be called on nil, which keeps nothing.
type Cache struct {
	mu   sync.Mutex
	kept []keptPlan // the one that was used last comes first
}

type keptPlan struct {
	profile  policy.Profile // a copy: the caller may give its profile other fields
	facts    features.Facts
	watching Watching
	plan     *Plan
}

// maxKept bounds the plans that are kept, and compared for each start.
const maxKept = 4

// Compile is the function Compile. The plan is the caller's own, but for what a start does not change.
func (c *Cache) Compile(p *policy.Profile, f features.Facts, watching Watching) *Plan {
	if c == nil {
		return Compile(p, f, watching)
	}
	if plan := c.find(p, f, watching); plan != nil {
		return plan.of(p)
	}
	plan := Compile(p, f, watching)
	// A plan for another profile than the given one, and one with a name for a single jail, are not kept.
	if plan.Profile == p && !plan.Spec.HostNS {
		c.keep(keptPlan{*p, f, watching, plan.of(p)})
	}
	return plan
}

func (c *Cache) find(p *policy.Profile, f features.Facts, watching Watching) *Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.kept, func(k keptPlan) bool {
		return k.watching == watching && k.profile.SameJail(p) && reflect.DeepEqual(k.facts, f)
	})
	if i < 0 {
		return nil
	}
	found := c.kept[i]
	c.kept = slices.Insert(slices.Delete(c.kept, i, i+1), 0, found)
	return found.plan
}

func (c *Cache) keep(k keptPlan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.Insert(c.kept, 0, k)
	c.kept = c.kept[:min(len(c.kept), maxKept)]
}

// of returns the plan for a profile with the same jail. The launcher decides about the gaps of its copy.
func (p *Plan) of(profile *policy.Profile) *Plan {
	own := *p
	own.Profile, own.Gaps = profile, slices.Clone(p.Gaps)
	return &own
}
