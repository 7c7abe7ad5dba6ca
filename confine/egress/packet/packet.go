// Package packet reads the packets by which the kernel of a jail refuses connections.
package packet

import (
	"encoding/binary"
	"net/netip"
)

const (
	protocolTCP    = 6
	protocolUDP    = 17
	protocolICMPv6 = 58
)

// ParseRefusal parses a packet, from its IP header on, by which the jail's kernel refused
// something: an RST in answer to a SYN, or an ICMP unreachable message. An ICMP message may cut
// off the packet that it quotes after the ports. A UDP packet is a refusal too: the filter of the
// socket passes only those to several machines, which the kernel drops without an answer.
func ParseRefusal(b []byte) (network string, to netip.AddrPort, ok bool) {
	src, dst, protocol, payload, ok := parseIPHeader(b)
	if !ok {
		return "", to, false
	}
	switch protocol {
	case protocolTCP:
		const ack, rst = 0x10, 0x04
		// An RST in answer to a SYN has sequence number 0. Others end a connection.
		if len(payload) < 14 || payload[13]&(ack|rst) != ack|rst || binary.BigEndian.Uint32(payload[4:]) != 0 {
			return "", to, false
		}
		return "tcp", netip.AddrPortFrom(src, binary.BigEndian.Uint16(payload)), true
	case protocolUDP:
		if len(payload) >= 4 {
			return "udp", netip.AddrPortFrom(dst, binary.BigEndian.Uint16(payload[2:])), true
		}
	case 1, protocolICMPv6:
		unreachable := byte(3)
		if protocol == protocolICMPv6 {
			unreachable = 1
		}
		if len(payload) < 8 || payload[0] != unreachable {
			return "", to, false
		}
		_, dst, inner, ports, ok := parseIPHeader(payload[8:])
		if !ok || len(ports) < 4 {
			return "", to, false
		}
		to = netip.AddrPortFrom(dst, binary.BigEndian.Uint16(ports[2:]))
		switch inner {
		case protocolTCP:
			return "tcp", to, true
		case protocolUDP:
			return "udp", to, true
		}
	}
	return "", netip.AddrPort{}, false
}

func parseIPHeader(b []byte) (src, dst netip.Addr, protocol byte, payload []byte, ok bool) {
	if len(b) == 0 {
		return src, dst, 0, nil, false
	}
	switch b[0] >> 4 {
	case 4:
		n := int(b[0]&0xf) * 4
		if n < 20 || len(b) < n || binary.BigEndian.Uint16(b[6:])&0x1fff != 0 { // not the first fragment
			return src, dst, 0, nil, false
		}
		return netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20])), b[9], b[n:], true
	case 6:
		if len(b) < 40 {
			return src, dst, 0, nil, false
		}
		return netip.AddrFrom16([16]byte(b[8:24])).Unmap(), netip.AddrFrom16([16]byte(b[24:40])).Unmap(), b[6], b[40:], true
	}
	return src, dst, 0, nil, false
}
