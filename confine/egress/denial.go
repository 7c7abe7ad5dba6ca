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

	pinned bool // it makes room for no other
}

// Reason says why something was refused.
type Reason int

const (
	ReasonNotGranted  Reason = iota + 1 // no rule allows the host, or not that port
	ReasonAddress                       // the name is granted, the address behind it is not
	ReasonWrongName                     // the first bytes name another host, or none
	ReasonWrongScheme                   // the rule is for another protocol
	ReasonAmbiguous                     // what was sent could be read in two ways
	ReasonRequest                       // path or method (a Terminator's)
	ReasonLimit                         // a limit was reached
	ReasonSecret                        // a secret's placeholder where none is replaced
	ReasonUnsupported                   // granted, but there is no way to do it here
)

var reasons = [...]string{
	ReasonNotGranted:  "not granted",
	ReasonAddress:     "the address behind the name is not granted",
	ReasonWrongName:   "the connection names another host",
	ReasonWrongScheme: "not the protocol of the rule",
	ReasonAmbiguous:   "could be read in two ways",
	ReasonRequest:     "the request is not granted",
	ReasonLimit:       "a limit was reached",
	ReasonSecret:      "no place for a secret",
	ReasonUnsupported: "there is no way to reach it here",
}

func (r Reason) String() string {
	if r <= 0 || int(r) >= len(reasons) {
		return "refused"
	}
	return reasons[r]
}

var codes = [...]string{
	ReasonNotGranted:  "not_granted",
	ReasonAddress:     "address",
	ReasonWrongName:   "wrong_name",
	ReasonWrongScheme: "wrong_scheme",
	ReasonAmbiguous:   "ambiguous",
	ReasonRequest:     "request",
	ReasonLimit:       "limit",
	ReasonSecret:      "secret",
	ReasonUnsupported: "unsupported",
}

// Code is the reason as programs read it.
func (r Reason) Code() string {
	if r <= 0 || int(r) >= len(codes) {
		return "refused"
	}
	return codes[r]
}

const (
	maxDenials    = 256
	pinnedDenials = maxDenials / 2
)

// denialLog are kept once for each thing that was tried. When there are too many, the
// one that was not seen for the longest time makes room. The first ones stay, and that
// others went is said: a program could try many things to have one forgotten.
type denialLog struct {
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
func (g *Gateway) record(d Denial) {
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
			if !o.pinned && (last.IsZero() || o.Last.Before(last)) {
				oldest, last = k, o.Last
			}
		}
		s.countLost(s.all[oldest])
		delete(s.all, oldest)
	}
	if s.all == nil {
		s.all = map[denialKey]*Denial{}
	}
	d.Count, d.First, d.Last = 1, now, now
	d.pinned = len(s.all) < pinnedDenials
	s.all[key] = &d
}

// countLost counts one that makes room. Its time is that of the first: what came later is
// closer to whatever fails.
func (s *denialLog) countLost(d *Denial) {
	if s.lost == nil {
		s.lost = &Denial{Host: "(others)", Network: "tcp", Why: ReasonLimit, Detail: "there was no room for these on record", First: d.First, Last: d.First}
	}
	s.lost.Count += d.Count
}

// deny records the refusal of a connection.
func (g *Gateway) deny(d *destination, why Reason, detail string) {
	g.record(Denial{Host: d.host, Port: int(d.to.Port()), Network: "tcp", Why: why, Detail: detail})
}

// denyIfRefused records an error that is a refusal, and no failure of the network.
func (g *Gateway) denyIfRefused(d *destination, err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	g.deny(d, r.why, r.detail)
	return true
}

// Denials lists what was refused, oldest first: what a program has been told of by
// now is among it.
func (g *Gateway) Denials() []Denial {
	g.readRefusals()
	if t := g.o.Interceptor; t != nil {
		t.FlushDenials()
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
