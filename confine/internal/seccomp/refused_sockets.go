package seccomp

// The rules for calls on sockets. socketRule and socketpairRule are part of the deny
// list. socketRules is part of the second filter.

// socketRule allows UNIX, TCP and UDP sockets as far as opts grants them. Every other
// family gets EAFNOSUPPORT.
func socketRule(opts Options) *Node {
	none := ErrnoNode(linuxEAFNOSUPPORT)
	n := none
	if opts.RouteNetlink {
		n = WhenEqual(Low(0), afNetlink, WhenEqual(Low(2), netlinkRoute, AllowNode, none), n)
	}
	if opts.Inet || opts.Sockets {
		kind := Low(1).and(sockTypeMask)
		stream := WhenOneOf(Low(2), []uint32{0, protoTCP}, AllowNode,
			WhenEqual(Low(2), protoMPTCP, ErrnoNode(linuxEPROTONOSUPPORT), none))
		dgram := WhenOneOf(Low(2), []uint32{0, protoUDP}, AllowNode, none)
		inet := WhenEqual(kind, sockStream, stream, WhenEqual(kind, sockDgram, dgram, none))
		n = WhenOneOf(Low(0), []uint32{afInet, afInet6}, inet, n)
	}
	if opts.Unix {
		n = WhenEqual(Low(0), afUnix, AllowNode, n)
	}
	return n
}

// socketpairRule allows AF_UNIX only. One end of a datagram pair can later be connected
// to another address. So without opts.Unix it allows stream and seqpacket pairs only.
// SOCK_RAW of AF_UNIX is a datagram socket.
func socketpairRule(opts Options) *Node {
	none := ErrnoNode(linuxEAFNOSUPPORT)
	pair := AllowNode
	if !opts.Unix {
		pair = WhenOneOf(Low(1).and(sockTypeMask), []uint32{sockStream, sockSeqpacket}, AllowNode, none)
	}
	return WhenEqual(Low(0), afUnix, pair, none)
}

// Without a network namespace, a server with granted hosts may hold TCP sockets, but it
// may not use one by itself. The supervisor makes, names and connects them (package
// mediate/sockets). In place of a UDP socket the server holds a UNIX socket, so calls that
// send and receive are harmless. Those that resolvers make are mediated, so that they find
// the address of the DNS server.

func socketRules() []rule {
	ask := &Node{Verdict: verdictNotify}
	noEffect := ErrnoNode(0) // the call returns 0
	given := WhenAny(Low(4), AllBits, ask, WhenAny(high(4), AllBits, ask, AllowNode))
	rules := []rule{
		{"listen", ErrnoNode(linuxEACCES)},
		{"sendto", given}, {"recvfrom", given}, // mediated if they pass an address
		// glibc asks no DNS server by a socket that refuses these options.
		{"setsockopt", WhenEqual(Low(1), solIP, WhenEqual(Low(2), ipRecvErr, noEffect, AllowNode),
			WhenEqual(Low(1), solIPv6, WhenEqual(Low(2), ipv6RecvErr, noEffect, AllowNode), AllowNode))},
	}
	for _, call := range []string{"socket", "connect", "bind", "getsockname", "recvmsg"} {
		rules = append(rules, rule{call, ask})
	}
	return rules
}

// socketCalls are the calls that socketRules passes to the supervisor.
var socketCalls = []string{"socket", "connect", "bind", "getsockname", "sendto", "recvfrom", "recvmsg"}

// SocketCallsByNumber returns the names of socketCalls by their numbers on arch.
func SocketCallsByNumber(arch Arch) map[uint32]string {
	m := make(map[uint32]string, len(socketCalls))
	for _, call := range socketCalls {
		if nr, ok := CallNumber(arch, call); ok {
			m[nr] = call
		}
	}
	return m
}
