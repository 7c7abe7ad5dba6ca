package seccomp

// This file lists the options of setsockopt(2) that pass, by level. Options are new calls under one
// number: a filter of a socket is compiled into a room of the kernel's that all users share
// (net.core.bpf_jit_limit), SO_ZEROCOPY keeps 2 MiB for each byte that waits to be sent, and flow
// labels of IPv6 are counted for the whole host. So an option that is not listed gets ENOPROTOOPT,
// as from an older kernel, and programs do without.

const (
	solIP      = 0
	solSocket  = 1
	solTCP     = 6
	solUDP     = 17
	solIPv6    = 41
	solNetlink = 270

	ipRecvErr   = 11
	ipv6RecvErr = 25
)

// socketOptions are what runtimes, browsers, and clients of databases and SSH set. The supervisor has
// the same filter, and sets SO_BINDTOIFINDEX and SO_PASSRIGHTS besides.
var socketOptions = map[uint32][]uint32{
	// SO_REUSEADDR, DONTROUTE to OOBINLINE, PRIORITY, LINGER, REUSEPORT, PASSCRED, RCVLOWAT, RCVTIMEO, SNDTIMEO,
	// BINDTODEVICE, TIMESTAMP, PASSSEC, TIMESTAMPNS, RXQ_OVFL, BINDTOIFINDEX, PASSPIDFD, PASSRIGHTS
	solSocket:  {2, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 18, 20, 21, 25, 29, 34, 35, 40, 62, 76, 83},
	solTCP:     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 18, 25, 36}, // linux/tcp.h
	solUDP:     {1, 103, 104},                                               // UDP_CORK, UDP_SEGMENT, UDP_GRO
	solNetlink: {1, 2, 3, 4, 5, 10, 11, 12},                                 // linux/netlink.h
	solIP:      {1, 2, 8, 10, 11, 12, 13, 15, 24, 33, 34},                   // IP_TOS to IP_MULTICAST_LOOP, linux/in.h
	solIPv6:    {16, 18, 19, 23, 25, 26, 49, 51, 62, 66, 67, 70, 72},        // linux/in6.h
}

// multicastOptions join groups (IP_MULTICAST_IF, IP_ADD_MEMBERSHIP, …). In the host's network they could
// lead datagrams elsewhere.
var multicastOptions = map[uint32][]uint32{
	solIP:   {32, 35, 36, 49},
	solIPv6: {17, 20, 21, 29},
}

// setsockoptRule decides setsockopt by its level and option. Where the supervisor makes the sockets, an
// option must not lead a connection elsewhere than connect was told to, or prevent it.
func setsockoptRule(opts Options) *Node {
	unknown := ErrnoNode(linuxENOPROTOOPT)
	levels := make(map[uint32]*Node, len(socketOptions))
	for level, options := range socketOptions {
		levels[level] = WhenOneOf(Low(2), options, AllowNode, unknown)
		if more := multicastOptions[level]; more != nil && !opts.Sockets {
			levels[level] = WhenOneOf(Low(2), more, AllowNode, levels[level])
		}
	}
	return search(Low(1), overlay([]segment{{0, unknown}}, levels))
}
