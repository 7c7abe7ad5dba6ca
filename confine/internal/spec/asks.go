package spec

import (
	"net/netip"
)

// What the init of a jail without a network namespace says to its launcher about the
// server's sockets: a message each, a letter and an address. Some are answered, with a
// byte.
const (
	AskConnect    = 'c' // may a connection be made? yes, or it was refused and recorded
	AskRefused    = 'r' // a packet was refused: record it; answered when that is done
	TellConnected = 'a' // the other end of a connection, a descriptor
	TellDatagrams = 'd' // the other end of what the server takes for a UDP socket
)

const (
	SaidNo  = 0
	SaidYes = 1
)

// An ask is such a message.
type Ask struct {
	Kind byte
	To   netip.AddrPort
}

const MaxAsk = 64

func (a Ask) Encode() []byte {
	b, _ := a.To.AppendBinary([]byte{a.Kind}) // never fails
	return b
}

func DecodeAsk(b []byte) (a Ask, err error) {
	if len(b) == 0 {
		return a, ErrOrder
	}
	a.Kind = b[0]
	if len(b) > 1 {
		err = a.To.UnmarshalBinary(b[1:])
	}
	return a, err
}
