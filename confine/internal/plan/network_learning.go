package plan

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Network is what a jail's network is for.
type Network uint8

const (
	NetworkGranted Network = iota // reaching what the rules grant
	NetworkClosed                 // finding out what the server asks for: nothing is reached
	NetworkAsked                  // reaching what the rules grant, and what is consented to during the session
)

// learning prepares the profiles for a network that is not for the rules alone. shown is what the plan shows,
// own is what it is compiled from: there, rules for every host stand for the gateway, which gets listeners
// so. Where no gateway can have the connections of the server, a closed network is none at all.
func learning(n Network, p *policy.Profile, f features.Facts) (shown, own *policy.Profile, note string) {
	if n == NetworkGranted {
		return p, p, ""
	}
	gateway, why := canGate(f)
	shown = p
	if n == NetworkClosed {
		closed := *p
		closed.Net, shown = nil, &closed
		restate(shown)
	}
	if !gateway {
		if n == NetworkClosed {
			note = "which hosts the server asks for is not seen here: " + why
		}
		return shown, shown, note
	}
	with := *shown
	with.Net = slices.Clone(shown.Net)
	for _, port := range egress.WatchedPorts() {
		with.Net = append(with.Net, policy.NetRule{Host: "*", Port: int(port), Allow: true})
	}
	return shown, &with, ""
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
func (c *compiler) asked(n Network) {
	c.plan.Network = n
	if n != NetworkAsked {
		return
	}
	if ok, why := canGate(c.f); !ok {
		c.addGap(Gap{
			Axis: policy.AxisNet, What: "to ask about each host", Why: why, Fatal: true,
			Fix: "name the hosts, or leave the network closed",
		})
	}
}
