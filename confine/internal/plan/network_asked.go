package plan

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

// withAskedPorts returns the profile from which the network of a jail is compiled whose user is asked about
// hosts: rules for every host stand for the gateway, which gets listeners so. p is not changed.
func withAskedPorts(p *policy.Profile, f features.Facts) *policy.Profile {
	if ok, _ := canGate(f); !ok {
		return p
	}
	with := *p
	with.Net = slices.Clone(p.Net)
	for _, port := range egress.AskedPorts() {
		with.Net = append(with.Net, policy.NetRule{Host: "*", Port: int(port), Allow: true})
	}
	return &with
}

// canGate reports whether a gateway can have all connections of a server, without a proxy that its programs
// would have to know.
func canGate(f features.Facts) (ok bool, why string) {
	switch {
	case f.OS != "linux":
		return false, "only on Linux a server has a network of its own"
	case f.UserNamespaces.Answer != features.No:
		return true, ""
	}
	can := canBroker(f)
	return can.Answer == features.Yes, can.Detail
}

// asked adds the gap of a network where hosts cannot be asked about.
func (c *compiler) asked() {
	if ok, why := canGate(c.f); !ok {
		c.addGap(Gap{
			Axis: policy.AxisNet, What: "to ask about each host", Why: why, Fatal: true,
			Fix: "name the hosts, or leave the network closed",
		})
	}
}
