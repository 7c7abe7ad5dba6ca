package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// socket is a kind of socket that a rule on TCP and UDP does not cover.
type socket struct{ domain, kind, protocol int }

// protocolUDPLite is defined here because some headers lack it. The newest kernels have removed UDP-Lite.
const protocolUDPLite = 136

func socketKinds() map[string]socket {
	return map[string]socket{
		"icmp":    {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
		"ping":    {unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP},
		"packet":  {unix.AF_PACKET, unix.SOCK_RAW, 0},
		"netlink": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE},
		"vsock":   {unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		"mptcp":   {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		"sctp":    {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP},
		"udplite": {unix.AF_INET, unix.SOCK_DGRAM, protocolUDPLite},
		"alg":     {unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
	}
}

func socketThefts() []theft {
	return []theft{
		{
			name: "raw_socket", about: "Make a socket of an unusual kind; nothing is sent",
			params: []param{{name: "kind", about: "icmp unless given; " + strings.Join(slices.Sorted(maps.Keys(socketKinds())), ", ")}},
			try: func(_ context.Context, a arguments) (string, error) {
				return makeSocket(a.text("kind", "icmp"))
			},
			sweep: func(bounty) (targets []arguments) {
				for _, kind := range slices.Sorted(maps.Keys(socketKinds())) {
					targets = append(targets, arguments{"kind": kind})
				}
				return targets
			},
		},
		{
			name: "fast_open", about: "Connect over TCP without calling connect",
			params: []param{
				{name: "host", about: "IPv4 address; 127.0.0.1 unless given"},
				{name: "port", about: "number", required: true, kind: number},
			},
			try: func(_ context.Context, a arguments) (string, error) { return fastOpen(a) },
			sweep: func(b bounty) []arguments {
				if b.port == 0 {
					return nil
				}
				return []arguments{{"port": b.port}}
			},
		},
		{
			name: "abstract_socket", about: "Connect to a socket that has a name and no file; nothing is sent",
			params: []param{{name: "name", about: "without the @", required: true}},
			try: func(ctx context.Context, a arguments) (string, error) {
				return dial(ctx, "unix", "@"+a.text("name", ""))
			},
			sweep: always(arguments{"name": "/tmp/.X11-unix/X0"}),
		},
	}
}

func makeSocket(name string) (string, error) {
	kind, ok := socketKinds()[name]
	if !ok {
		return "", fmt.Errorf("%w: no kind %q", errNothing, name)
	}
	fd, err := unix.Socket(kind.domain, kind.kind|unix.SOCK_CLOEXEC, kind.protocol)
	if err != nil {
		return "", fmt.Errorf("socket: %w", err)
	}
	return "a socket of kind " + name, unix.Close(fd)
}

// fastOpen connects by sendto. Landlock restricts connect.
func fastOpen(a arguments) (string, error) {
	target, err := netip.ParseAddr(a.text("host", "127.0.0.1"))
	if err != nil || !target.Is4() {
		return "", fmt.Errorf("%w: host must be an IPv4 address", errNothing)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(patience.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait); err != nil {
		return "", fmt.Errorf("setsockopt: %w", err)
	}
	to := &unix.SockaddrInet4{Port: a.number("port", 0), Addr: target.As4()}
	if err := unix.Sendto(fd, []byte("thief\n"), unix.MSG_FASTOPEN, to); err != nil {
		return "", fmt.Errorf("sendto: %w", err)
	}
	return "sent to " + net.JoinHostPort(target.String(), fmt.Sprint(to.Port)), nil
}
