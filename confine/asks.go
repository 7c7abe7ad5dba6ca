package confine

import (
	"net/netip"
)

// What the init of a jail without a network namespace says to its launcher about the
// server's sockets: a message each, a letter and an address. Some are answered, with a
// byte.
const (
	askConnect    = 'c' // may a connection be made? yes, or it was refused and recorded
	askRefused    = 'r' // a packet was refused: record it; answered when that is done
	tellConnected = 'a' // the other end of a connection, a descriptor
	tellDatagrams = 'd' // the other end of what the server takes for a UDP socket
)

const (
	saidNo  = 0
	saidYes = 1
)

// An ask is such a message.
type ask struct {
	kind byte
	to   netip.AddrPort
}

const maxAsk = 64

func (a ask) encode() []byte {
	b, _ := a.to.AppendBinary([]byte{a.kind}) // never fails
	return b
}

func decodeAsk(b []byte) (a ask, err error) {
	if len(b) == 0 {
		return a, errOrder
	}
	a.kind = b[0]
	if len(b) > 1 {
		err = a.to.UnmarshalBinary(b[1:])
	}
	return a, err
}
