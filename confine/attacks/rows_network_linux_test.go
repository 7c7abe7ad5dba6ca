package attacks

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// networkAttacks are attacks by the network and by UNIX sockets. No host is granted.
func networkAttacks() []attackGroup {
	var netlink, families []string
	for _, kind := range []int{
		unix.NETLINK_USERSOCK, unix.NETLINK_SOCK_DIAG, unix.NETLINK_NFLOG, unix.NETLINK_XFRM, unix.NETLINK_SELINUX, unix.NETLINK_ISCSI, unix.NETLINK_AUDIT, unix.NETLINK_FIB_LOOKUP,
		unix.NETLINK_CONNECTOR, unix.NETLINK_NETFILTER, unix.NETLINK_KOBJECT_UEVENT, unix.NETLINK_GENERIC, unix.NETLINK_SCSITRANSPORT, unix.NETLINK_RDMA, unix.NETLINK_CRYPTO,
	} {
		netlink = append(netlink, fmt.Sprint("call socket ", unix.AF_NETLINK, " ", unix.SOCK_RAW, " ", kind))
	}
	for family := 1; family < 46; family++ {
		switch family {
		case unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET, unix.AF_VSOCK:
		default:
			families = append(families, fmt.Sprint("family ", family, " 0"))
		}
	}
	each := func(verb string, words ...string) (out []string) {
		for _, w := range words {
			out = append(out, verb+" "+w)
		}
		return out
	}
	join := func(lists ...[]string) (out []string) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	return []attackGroup{
		{"Network (no host is granted)", []attack{
			{what: "a service on the host's loopback: 127.0.0.1, ::1, 0.0.0.0, ::, v4-mapped", forms: each("dial tcp", "LOCAL4TCP", "LOCAL6TCP", "ANY4TCP", "ANY6TCP", "MAPPEDTCP")},
			{what: "the local network", forms: []string{"dial tcp LANTCP", "echo-udp LANUDP", "echo-sendto LANUDP"}},
			{what: "a cloud's metadata service, 169.254.169.254", forms: []string{"dial tcp METATCP", "echo-udp METAUDP"}},
			{what: "an address of the Internet, v4 and v6", forms: join(each("dial tcp", "PUBLIC4TCP", "PUBLIC6TCP"), each("echo-udp", "PUBLIC4UDP", "PUBLIC6UDP"))},
			{what: "UDP to the loopback", forms: join(each("echo-udp", "LOCAL4UDP", "LOCAL6UDP"), each("echo-sendto", "LOCAL4UDP", "LOCAL6UDP"))},
			{what: "DNS, to any resolver", forms: []string{"resolve RESOLVERUDP", "dial tcp RESOLVERTCP", "resolve LOCAL4UDP"}},
			{what: "QUIC", forms: each("quic", "PUBLIC4UDP", "LOCAL4UDP")},
			{what: "TCP Fast Open, which connects without connect", forms: []string{
				"fast-open LOCAL4TCP sendto", "fast-open LOCAL4TCP sendmsg", "fast-open LOCAL6TCP sendto", "fast-connect LOCAL4TCP", "fast-connect LOCAL6TCP", "fast-open PUBLIC4TCP sendto",
			}},
			{what: "MPTCP", forms: each("mptcp", "LOCAL4TCP", "LOCAL6TCP")},
			{what: "SCTP, DCCP, UDP-Lite, SMC", forms: join(each("sctp", "LOCAL4TCP"), each("dccp", "LOCAL4TCP"), each("udplite", "LOCAL4UDP", "LOCAL6UDP"), []string{"smc", "call socket 2 1 256", "call socket 2 1 132", "call socket 2 5 132"})},
			{what: "ICMP and raw IP", forms: []string{"ping LOCAL4TCP", "raw-ip LOCAL4TCP", "call socket 2 3 1", "call socket 2 2 1", "call socket 10 3 58", "call socket 2 3 255"}},
			{what: "packet sockets", forms: []string{"call socket 17 3 0", "call socket 17 2 0", "call socket 2 10 0x300"}},
			{what: "vsock, to the hypervisor", forms: []string{"vsock", "call socket 40 1 0", "call socket 40 2 0"}},
			{what: "netlink, every kind but the one that lists interfaces", forms: netlink},
			{what: "every other family of sockets", forms: families},
			{what: "see the host's interfaces, addresses and connections", forms: []string{"interfaces", "addresses LANTCP", "connections tcp PORTHEX", "connections unix ABSTRACT"}},
			{what: "administer the network", forms: []string{"raise-lo"}},
			{what: "talk to oneself over 127.0.0.1", allowed: "the loopback of the jail's own; servers need it for their children", forms: []string{"loopback"}},
			{what: "ask for the interfaces (NETLINK_ROUTE)", allowed: "they are the jail's own: lo", forms: []string{fmt.Sprint("socket ", unix.AF_NETLINK, " ", unix.SOCK_RAW, " ", unix.NETLINK_ROUTE)}},
		}},
		{"UNIX sockets of the host (Docker, ssh-agent, D-Bus, …)", []attack{
			{what: "by path", forms: []string{"unix OUT/sock", "unix-dgram OUT/dgram", "unix-fd OUT/sock", "unix WS/outdir/sock", "unix /proc/self/rootOUT/sock"}},
			{what: "by a link in the workspace", forms: []string{"unix-symlinked OUT/sock WS/l", "unix-linked OUT/sock WS/l", "unix-linked WS/sock WS/l"}},
			{what: "by abstract name", forms: []string{"unix @ABSTRACT", "unix-dgram @ABSTRACT-dgram"}},
			{what: "one that lies in a granted directory", forms: []string{"unix WS/sock", "unix-dgram WS/dgram", "unix-symlinked WS/sock WS/l", "unix-fd WS/sock"}},
			{what: "take a descriptor over one (SCM_RIGHTS)", forms: []string{"take-descriptor OUT/sock", "take-descriptor @ABSTRACT", "take-descriptor WS/sock"}},
			{what: "one that a process of the host makes in a granted directory after the start", allowed: "before Landlock ABI 9 nothing can tell it from one of the server's own", forms: []string{"unix WS/late"}},
		}},
	}
}
