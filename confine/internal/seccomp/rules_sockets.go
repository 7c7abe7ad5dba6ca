package seccomp

// Where there is no network namespace, a server with granted hosts may hold TCP
// sockets and may not use one by itself: what makes, names and connects them is handed
// over (sockets_linux.go). Its datagram sockets are none (datagrams_linux.go), so
// whatever sends and receives can go on, and is handed over only to tell a program
// what it would have been told by a real one.

// Options of sockets that the server may set. Others lead a connection elsewhere than
// where connect was told to (source routes, Fast Open, routing headers), keep it from
// coming about, or are newer than this table.
var (
	ipOptions  = []uint32{1, 2, 8, 10, 11, 12, 13, 15, 24, 33, 34}                   // IP_TOS to IP_MULTICAST_LOOP, linux/in.h
	ip6Options = []uint32{16, 18, 19, 23, 25, 26, 49, 51, 62, 66, 67, 70, 72}        // linux/in6.h
	tcpOptions = []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 18, 25, 36} // linux/tcp.h
	ownOptions = []uint32{SoType, SoProtocol, SoDomain}                              // that tell what a socket is
)

const (
	solSocket = 1
	solTCP    = 6
	solIP     = 0
	solIPv6   = 41

	SoType     = 3
	SoProtocol = 38
	SoDomain   = 39
)

// socketRules are those of the server's own filter, for what its supervisor does for
// it.
func socketRules() []rule {
	ask, unknown := &Node{Verdict: verdictNotify}, ErrnoNode(linuxENOPROTOOPT)
	given := WhenAny(Low(4), AllBits, ask, WhenAny(high(4), AllBits, ask, AllowNode))
	rules := []rule{
		{"listen", ErrnoNode(linuxEACCES)},
		{"sendto", given}, {"recvfrom", given}, // with an address
		{"setsockopt", WhenEqual(Low(1), solSocket, AllowNode,
			WhenEqual(Low(1), solTCP, WhenOneOf(Low(2), tcpOptions, AllowNode, unknown),
				WhenEqual(Low(1), solIP, WhenOneOf(Low(2), ipOptions, ask, unknown),
					WhenEqual(Low(1), solIPv6, WhenOneOf(Low(2), ip6Options, ask, unknown), unknown))))},
		{"getsockopt", WhenEqual(Low(1), solSocket, WhenOneOf(Low(2), ownOptions, ask, AllowNode), AllowNode)},
	}
	for _, call := range []string{"socket", "connect", "bind", "getsockname", "getpeername", "sendmsg", "sendmmsg", "recvmsg", "recvmmsg"} {
		rules = append(rules, rule{call, ask})
	}
	return rules
}

// socketCalls are the calls that these rules hand over.
var socketCalls = []string{
	"socket", "connect", "bind", "getsockname", "getpeername", "setsockopt", "getsockopt",
	"sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg",
}

// socketsByNumber finds the name of such a call.
func SocketCallsByNumber(arch Arch) map[uint32]string {
	m := make(map[uint32]string, len(socketCalls))
	for _, call := range socketCalls {
		if nr, ok := CallNumber(arch, call); ok {
			m[nr] = call
		}
	}
	return m
}
