package egress

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Denial is one refusal, or several of the same kind.
type Denial struct {
	Host    string // the name, or the address if there is none
	Port    int    // 0 for dns
	Network string // "tcp", "udp" or "dns"
	Why     Reason
	Detail  string // in words, for example the refused address
	Count   int
	First   time.Time
	Last    time.Time

	pinned bool // it is never evicted
}

// Reason is the reason of a refusal.
type Reason int

const (
	ReasonNotGranted  Reason = iota + 1 // no rule allows the host on this port
	ReasonAddress                       // the name is granted, its address is not
	ReasonWrongName                     // the first bytes name another host, or none
	ReasonWrongScheme                   // the rule is for another protocol
	ReasonAmbiguous                     // servers could read the bytes in two ways
	ReasonRequest                       // no rule allows the path or method
	ReasonLimit                         // a limit was reached
	ReasonSecret                        // a placeholder of a secret in a field where it is not replaced
	ReasonUnsupported                   // granted, but not supported here
)

var reasons = [...]string{
	ReasonNotGranted:  "not granted",
	ReasonAddress:     "the address behind the name is not granted",
	ReasonWrongName:   "the connection names another host",
	ReasonWrongScheme: "the rule is for another protocol",
	ReasonAmbiguous:   "servers could read it in two ways",
	ReasonRequest:     "the request is not granted",
	ReasonLimit:       "a limit was reached",
	ReasonSecret:      "a secret in the wrong place",
	ReasonUnsupported: "it cannot be reached from here",
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

// Code returns the reason as it appears in machine-readable output.
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

// denialLog keeps one Denial for each thing that was refused. If there are too many, a new
// one replaces the one that was seen least recently. The first pinnedDenials are never
// replaced, and lost counts the replaced ones, so a program cannot hide a refusal by causing
// many others.
type denialLog struct {
	mu   sync.Mutex
	all  map[denialKey]*Denial
	lost *Denial // stands for the replaced ones
}

type denialKey struct {
	host    string
	port    int
	network string
	why     Reason
}

// record adds a refusal to the log.
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

// countLost counts a replaced Denial. It keeps the time of the first: later refusals are
// closer to a failure that is being diagnosed.
func (s *denialLog) countLost(d *Denial) {
	if s.lost == nil {
		s.lost = &Denial{Host: "(others)", Network: "tcp", Why: ReasonLimit, Detail: "too many different refusals to record each", First: d.First, Last: d.First}
	}
	s.lost.Count += d.Count
}

// deny records the refusal of a connection.
func (g *Gateway) deny(d *destination, why Reason, detail string) {
	g.record(Denial{Host: d.host, Port: int(d.to.Port()), Network: "tcp", Why: why, Detail: detail})
}

// denyIfRefused records err if it is a refusal, and reports whether it is.
func (g *Gateway) denyIfRefused(d *destination, err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	g.deny(d, r.why, r.detail)
	return true
}

// Denials returns the refusals so far, oldest first. They include every refusal that a
// program can know of.
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
