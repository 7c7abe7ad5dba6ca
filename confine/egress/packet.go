package egress

import (
	"encoding/binary"
	"net/netip"
)

const (
	protocolICMP   = 1
	protocolTCP    = 6
	protocolUDP    = 17
	protocolICMPv6 = 58
)

// parseRefusal parses a packet, from its IP header on, by which the jail's kernel refused
// something: an RST in answer to a SYN, an ICMP unreachable message, or UDP to several machines,
// which the kernel drops without an answer. An ICMP message may cut off the packet that it quotes
// after the ports.
func parseRefusal(b []byte) (network string, to netip.AddrPort, ok bool) {
	src, dst, protocol, payload, ok := parseIPHeader(b)
	at := 0 // where the refused port is
	switch {
	case ok && len(payload) >= 8 && (protocol == protocolICMP && payload[0] == 3 || protocol == protocolICMPv6 && payload[0] == 1):
		_, dst, protocol, payload, ok = parseIPHeader(payload[8:])
		at = 2
	case protocol == protocolUDP:
		ok, at = ok && (dst.IsMulticast() || dst == netip.AddrFrom4([4]byte{255, 255, 255, 255})), 2
	default:
		const ack, rst = 0x10, 0x04
		// An RST in answer to a SYN has sequence number 0. Others end a connection.
		ok = ok && len(payload) >= 14 && payload[13]&(ack|rst) == ack|rst && binary.BigEndian.Uint32(payload[4:]) == 0
		dst = src
	}
	network = map[byte]string{protocolTCP: "tcp", protocolUDP: "udp"}[protocol]
	if !ok || network == "" || len(payload) < at+2 {
		return "", to, false
	}
	return network, netip.AddrPortFrom(dst, binary.BigEndian.Uint16(payload[at:])), true
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
