package egress

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// reasonTexts holds the reasons of refusals in words, for errors.
var reasonTexts = map[policy.DenialReason]string{
	policy.DeniedNotGranted:  "not granted",
	policy.DeniedAddress:     "the address behind the name is not granted",
	policy.DeniedWrongName:   "the connection names another host",
	policy.DeniedWrongScheme: "the rule is for another protocol",
	policy.DeniedAmbiguous:   "servers could read it in two ways",
	policy.DeniedRequest:     "the request is not granted",
	policy.DeniedLimit:       "a limit was reached",
	policy.DeniedSecret:      "a secret in the wrong place",
	policy.DeniedLeak:        "a secret that is not meant for the host",
	policy.DeniedUnsupported: "it cannot be reached from here",
}

// The values of policy.Denial.Operation.
const (
	opConnect = "connect" // TCP
	opSend    = "send"    // UDP
	opResolve = "resolve" // DNS
)

const (
	maxDenials   = 256
	firstDenials = maxDenials / 2
)

// denialLog keeps one Denial for each thing that was refused. If there are too many, a new
// one replaces the one that was seen least recently. The first firstDenials are never
// replaced, and lost counts the replaced ones, so a program cannot hide a refusal by causing
// many others.
type denialLog struct {
	mu   sync.Mutex
	all  map[denialKey]*recordedDenial
	lost *policy.Denial // stands for the replaced ones
}

// recordedDenial is a Denial of the log.
type recordedDenial struct {
	policy.Denial
	lasting bool // it is never replaced
}

type denialKey struct {
	operation, target string
	reason            policy.DenialReason
}

// record adds a refusal.
func (s *denialLog) record(operation, host string, port int, why policy.DenialReason, detail string) {
	target := host
	if port != 0 {
		target = endpoint(host, port)
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	key := denialKey{operation, target, why}
	if old := s.all[key]; old != nil {
		old.Count++
		old.Last = now
		if detail != "" {
			old.Detail = detail
		}
		return
	}
	// The least recent refusal that may be replaced makes room. It goes on counting as one of lost.
	if len(s.all) >= maxDenials {
		var oldest denialKey
		var last time.Time
		for k, o := range s.all {
			if !o.lasting && (last.IsZero() || o.Last.Before(last)) {
				oldest, last = k, o.Last
			}
		}
		s.countLost(s.all[oldest].Denial)
		delete(s.all, oldest)
	}
	if s.all == nil {
		s.all = map[denialKey]*recordedDenial{}
	}
	s.all[key] = &recordedDenial{policy.Denial{
		Axis: policy.AxisNet, Operation: operation, Target: target, Reason: why, Detail: detail,
		Count: 1, Time: now, Last: now,
	}, len(s.all) < firstDenials}
}

// countLost counts a replaced Denial. It keeps the time of the first replaced one, so that
// Denials lists the sum before later refusals, which are closer to a failure under diagnosis.
func (s *denialLog) countLost(d policy.Denial) {
	if s.lost == nil {
		s.lost = &policy.Denial{
			Axis: policy.AxisNet, Operation: opConnect, Target: policy.DenialOthers, Reason: policy.DeniedLimit,
			Detail: "too many different refusals to record each", Time: d.Time, Last: d.Time,
		}
	}
	s.lost.Count += d.Count
}

func (s *denialLog) deny(d *destination, why policy.DenialReason, detail string) {
	s.record(opConnect, d.host, int(d.to.Port()), why, detail)
}

func (s *denialLog) denyName(name string, why policy.DenialReason, detail string) {
	s.record(opResolve, name, 0, why, detail)
}

func (s *denialLog) denyIfRefused(d *destination, err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	s.deny(d, r.why, r.detail)
	return true
}

// Denials returns the refusals so far, oldest first. They include every refusal that a
// program can know of.
func (g *Gateway) Denials() []policy.Denial {
	g.readRefusals()
	var more []policy.Denial
	if f := g.front.Load(); f != nil {
		more = f.Unasked()
	}
	return g.denials.list(more...)
}

func (s *denialLog) list(more ...policy.Denial) []policy.Denial {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := append(make([]policy.Denial, 0, len(s.all)+len(more)), more...)
	for _, d := range s.all {
		out = append(out, d.Denial)
	}
	if s.lost != nil {
		out = append(out, *s.lost)
	}
	slices.SortFunc(out, func(a, b policy.Denial) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Target, b.Target), strings.Compare(a.Operation, b.Operation), strings.Compare(string(a.Reason), string(b.Reason)))
	})
	return out
}
