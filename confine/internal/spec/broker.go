package spec

import (
	"net/netip"
)

// The kinds of a BrokerRequest. The launcher answers each with one byte.
const (
	RequestConnect = 'c' // asks whether a connection is allowed; the launcher records a refusal
	RequestRefused = 'r' // asks the launcher to record a refused packet
	PassTCP        = 'a' // passes the other end of a TCP connection, as a descriptor
	PassUDP        = 'd' // passes the other end of a socket that the server uses as UDP
)

// The answers to a BrokerRequest.
const (
	AnswerNo  = 0
	AnswerYes = 1
)

// BrokerRequest is a message about one of the server's sockets. The supervisor of a jail without a
// network namespace sends it to the launcher.
type BrokerRequest struct {
	Kind byte
	To   netip.AddrPort
}

// MaxBrokerRequest is the size of the buffer in which a request arrives.
const MaxBrokerRequest = 64

// Encode returns the request as one message: its kind, then the address.
func (a BrokerRequest) Encode() []byte {
	b, _ := a.To.AppendBinary([]byte{a.Kind}) // never fails
	return b
}

// DecodeBrokerRequest reads a message that Encode made.
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
