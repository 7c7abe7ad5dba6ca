package egress

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

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

	stays bool // it makes room for no other
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
	Misplaced                     // a secret's placeholder where none is replaced
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
	Misplaced:   "no place for a secret",
	Unsupported: "there is no way to reach it here",
}

func (r Reason) String() string {
	if r <= 0 || int(r) >= len(reasons) {
		return "refused"
	}
	return reasons[r]
}

var codes = [...]string{
	NotGranted:  "not_granted",
	Address:     "address",
	WrongName:   "wrong_name",
	WrongScheme: "wrong_scheme",
	Ambiguous:   "ambiguous",
	Request:     "request",
	TooMany:     "limit",
	Misplaced:   "secret",
	Unsupported: "unsupported",
}

// Code is the reason as programs read it.
func (r Reason) Code() string {
	if r <= 0 || int(r) >= len(codes) {
		return "refused"
	}
	return codes[r]
}

const (
	maxDenials  = 256
	keptDenials = maxDenials / 2
)

// denials are kept once for each thing that was tried. When there are too many, the
// one that was not seen for the longest time makes room. The first ones stay, and that
// others went is said: a program could try many things to have one forgotten.
type denials struct {
	mu   sync.Mutex
	all  map[denialKey]*Denial
	lost *Denial // stands for those that made room
}

type denialKey struct {
	host    string
	port    int
	network string
	why     Reason
}

// record adds a refusal to those on record.
func (g *Gate) record(d Denial) {
	now := time.Now()
	s := &g.denials
	s.mu.Lock()
	defer s.mu.Unlock()
	key := denialKey{d.Host, d.Port, d.Network, d.Why}
	if old := s.all[key]; old != nil {
		old.Count++
		old.Last = now
		if d.Detail != "" {
			old.Detail = d.Detail
		}
		return
	}
	if len(s.all) >= maxDenials {
		var oldest denialKey
		var last time.Time
		for k, o := range s.all {
			if !o.stays && (last.IsZero() || o.Last.Before(last)) {
				oldest, last = k, o.Last
			}
		}
		s.lose(s.all[oldest])
		delete(s.all, oldest)
	}
	if s.all == nil {
		s.all = map[denialKey]*Denial{}
	}
	d.Count, d.First, d.Last = 1, now, now
	d.stays = len(s.all) < keptDenials
	s.all[key] = &d
}

// lose counts one that makes room. Its time is that of the first: what came later is
// closer to whatever fails.
func (s *denials) lose(d *Denial) {
	if s.lost == nil {
		s.lost = &Denial{Host: "(others)", Network: "tcp", Why: TooMany, Detail: "there was no room for these on record", First: d.First, Last: d.First}
	}
	s.lost.Count += d.Count
}

// deny records the refusal of a connection.
func (g *Gate) deny(d *destination, why Reason, detail string) {
	g.record(Denial{Host: d.host, Port: int(d.to.Port()), Network: "tcp", Why: why, Detail: detail})
}

// denyError records an error that is a refusal, and no failure of the network.
func (g *Gate) denyError(d *destination, err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	g.deny(d, r.why, r.detail)
	return true
}

// Denials lists what was refused, oldest first: what a program has been told of by
// now is among it.
func (g *Gate) Denials() []Denial {
	g.drain()
	if t := g.o.Terminator; t != nil {
		t.CatchUp()
	}
	g.denials.mu.Lock()
	defer g.denials.mu.Unlock()
	out := make([]Denial, 0, len(g.denials.all))
	for _, d := range g.denials.all {
		out = append(out, *d)
	}
	if lost := g.denials.lost; lost != nil {
		out = append(out, *lost)
	}
	slices.SortFunc(out, func(a, b Denial) int {
		return cmp.Or(a.First.Compare(b.First), strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	return out
}
