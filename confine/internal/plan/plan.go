package plan

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Plan is a profile compiled for one host: what will hold, by which mechanism, and what will not.
type Plan struct {
	Profile  *policy.Profile
	Enforced []Enforcement
	Gaps     []Gap
	Notes    []string // other differences that the server sees
	// ShownLater are those of Profile.HiddenLater that this jail shows if the host makes them.
	ShownLater []string
	// HostNamespaces has the answer No, and the reason, if this jail has host namespaces.
	HostNamespaces features.Feature

	Spec   spec.Spec
	TLS    tlsPlan
	Cgroup cgroup.Location // where the jail's cgroup is; none if the plan does not count on one
}

// Axes returns the axes of the gaps, or nil if a gap cannot be waived.
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
