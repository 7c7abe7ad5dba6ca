package spec

// Network says which sockets the jail opens and passes to the launcher.
//
// A jail with namespaces has an empty network namespace. If hosts are granted, every address is
// local there. So a connection that would leave the jail arrives at a listener that the stub
// opened in the namespace and passed to the launcher. A Gateway in the launcher decides about it
// (package egress). The jail keeps no end of these sockets.
type Network struct {
	Open     bool     // hosts are granted, in a network namespace
	Brokered bool     // hosts are granted, without namespaces: the supervisor makes the server's sockets and asks the launcher
	Inbound  bool     // ports of the host lead into the jail
	Ports    []uint16 // the TCP ports to listen on, besides DNS
	Refused  []byte   // the BPF filter of the packet socket, struct sock_filter records
}

// Any reports whether the jail passes any socket.
func (n *Network) Any() bool { return n.Open || n.Brokered || n.Inbound }

// The kinds of the sockets that the jail passes to the launcher: one byte for each, in the
// data of the message that carries the descriptors.
const (
	SocketDNS     = 'd' // UDP, [::]:53
	SocketDNSTCP  = 'D' // TCP, [::]:53
	SocketTCP     = 't' // a listener on one of Ports
	SocketPackets = 'r' // the packet socket, which sees refused packets
	SocketInbound = 's' // an unconnected TCP socket, for one connection into the jail
	SocketBroker  = 'a' // a UNIX socket, which carries BrokerRequests
	SocketsEnd    = '.' // without a descriptor: no more sockets follow
)

// MaxSockets is how many descriptors one message carries (SCM_MAX_FD).
const MaxSockets = 253

// GatewayPort is the port of DNS.
const GatewayPort = 53
