package egress

import "time"

// Denial is a fact: something was tried and refused.
type Denial struct {
	Host    string // the name, or the address where none is known
	Port    int    // 0 for dns
	Network string // "tcp", "udp" or "dns"
	Why     Reason
	Detail  string // more, in words: the address that was refused, the name in a handshake
	Count   int
	First   time.Time
	Last    time.Time
}

// Reason says why something was refused.
type Reason int

const (
	NotGranted  Reason = iota + 1 // no rule allows the host, or not that port
	Address                       // the name is granted, the address behind it is not
	WrongName                     // the first bytes name another host, or none
	WrongScheme                   // the rule is for another protocol
	Ambiguous                     // what was sent could be read in two ways
	Request                       // path or method (a Terminator's)
	TooMany                       // a limit was reached
	Unsupported                   // granted, but there is no way to do it here
)

var reasons = [...]string{
	NotGranted:  "not granted",
	Address:     "the address behind the name is not granted",
	WrongName:   "the connection names another host",
	WrongScheme: "not the protocol of the rule",
	Ambiguous:   "could be read in two ways",
	Request:     "the request is not granted",
	TooMany:     "a limit was reached",
	Unsupported: "there is no way to reach it here",
}

func (r Reason) String() string {
	if r <= 0 || int(r) >= len(reasons) {
		return "refused"
	}
	return reasons[r]
}
