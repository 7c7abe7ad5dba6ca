package spec

import (
	"net/netip"
)

// What the init of a jail without a network namespace says to its launcher about the
// server's sockets: a message each, a letter and an address. Some are answered, with a
// byte.
const (
	RequestConnect = 'c' // may a connection be made? yes, or it was refused and recorded
	RequestRefused = 'r' // a packet was refused: record it; answered when that is done
	PassTCP        = 'a' // the other end of a connection, a descriptor
	PassUDP        = 'd' // the other end of what the server takes for a UDP socket
)

const (
	AnswerNo  = 0
	AnswerYes = 1
)

// An ask is such a message.
type BrokerRequest struct {
	Kind byte
	To   netip.AddrPort
}

const MaxBrokerRequest = 64

func (a BrokerRequest) Encode() []byte {
	b, _ := a.To.AppendBinary([]byte{a.Kind}) // never fails
	return b
}

func DecodeBrokerRequest(b []byte) (a BrokerRequest, err error) {
	if len(b) == 0 {
		return a, ErrSpec
	}
	a.Kind = b[0]
	if len(b) > 1 {
		err = a.To.UnmarshalBinary(b[1:])
	}
	return a, err
}
