package plan

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Plan is a profile compiled for one kernel: what will hold, by which mechanism,
// and what will not.
type Plan struct {
	Profile  *policy.Profile
	Enforced []Enforcement
	Gaps     []Gap
	Notes    []string // remarks that are neither: what the server sees differently
	// Bare says, with the answer No, that this jail has no namespaces, and why.
	HostNamespaces probe.Feature

	Spec   spec.Spec
	TLS    tlsPlan
	Cgroup cgroup.Location // where its cgroup is; none where the plan does not count on one
}

// axes are those that the gaps lie on; nil where one cannot be waived.
func (plan *Plan) Axes() (axes []policy.Axis) {
	for _, a := range policy.Axes() {
		for _, g := range plan.Gaps {
			if g.Fatal {
				return nil
			}
			if g.Axis == a && !slices.Contains(axes, a) {
				axes = append(axes, a)
			}
		}
	}
	return axes
}
