package spec

// A jail with granted hosts has an empty network namespace like every other. In it
// every address is local: what would lead out arrives at sockets that the shim opened
// there and handed to the launcher. On the launcher's side of them a Gate decides
// (package egress); on the jail's side there is nothing left to reach.

// gateOrder is what the shim has to open.
type Network struct {
	Open    bool     // there is a gate at all
	Asked   bool     // instead, without namespaces: the init makes the server's sockets, and asks what they may reach
	Inbound bool     // ports of the host lead into the jail
	Ports   []uint16 // TCP, besides those of DNS
	Refused []byte   // the filter of the packet socket, struct sock_filter records
}

// any tells whether there is something to hand over.
func (g *Network) Any() bool { return g.Open || g.Asked || g.Inbound }

// What the sockets are that the shim hands over: a byte each, in the data of the
// message that carries them.
const (
	SocketDNS     = 'd' // UDP, [::]:53
	SocketDNSTCP  = 'D'
	SocketTCP     = 't' // a listener
	SocketPackets = 'r' // the packet socket
	SocketInbound = 's' // TCP, for a connection into the jail
	SocketBroker  = 'a' // no socket of the network: see asks.go
	SocketsEnd    = '.' // no descriptor: that was the last
)

// maxHanded is how many descriptors one message carries (SCM_MAX_FD).
const MaxSockets = 253

// gatePort is DNS's.
const GatewayPort = 53
