package egresstest

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// ServeNames answers DNS queries at Resolver, over UDP and TCP. lookup returns the addresses of a
// name, of both families; the name that it is an alias of may precede them. A name without
// addresses does not exist.
func ServeNames(lookup func(name string) []string) error {
	packets, err := net.ListenPacket("udp", Resolver+":53")
	if err != nil {
		return err
	}
	streams, err := net.Listen("tcp", Resolver+":53")
	if err != nil {
		return err
	}
	go func() {
		b := make([]byte, 4096)
		for {
			n, from, err := packets.ReadFrom(b)
			if err != nil {
				return
			}
			packets.WriteTo(answer(b[:n], lookup), from)
		}
	}()
	go Serve(streams, func(c net.Conn) {
		var size [2]byte
		for {
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return
			}
			b := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			a := answer(b, lookup)
			c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...))
		}
	})
	return nil
}

// answer returns nil for a message that is not a query.
func answer(query []byte, lookup func(name string) []string) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	found := lookup(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")))
	if found == nil {
		m.RCode = dnsmessage.RCodeNameError
	}
	owner := q.Name
	for _, to := range found {
		r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET, TTL: 60}}
		addr, err := netip.ParseAddr(to)
		switch {
		case err != nil:
			owner = dnsmessage.MustNewName(to + ".")
			r.Body = &dnsmessage.CNAMEResource{CNAME: owner}
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			r.Body = &dnsmessage.AResource{A: addr.As4()}
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			r.Body = &dnsmessage.AAAAResource{AAAA: addr.As16()}
		default:
			continue
		}
		m.Answers = append(m.Answers, r)
	}
	b, _ := m.Pack()
	return b
}
