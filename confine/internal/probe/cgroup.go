package probe

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
)

// feature is the place as a report shows it.
func cgroupFeature(p cgroup.CgroupPlace) Feature {
	switch {
	case p.Parent != "":
		return Available("below " + p.Parent)
	case p.Manager != "":
		return Available("a scope of systemd, by way of " + p.Manager)
	}
	return Unavailable(p.Why, p.Fix)
}
