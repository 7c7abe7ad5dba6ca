package egress

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	maxFailures = 64
	slowAttempt = time.Second // from then on, an attempt counts as one without an answer
)

// failureLog keeps the latest failure of each granted host and port, until the host is reached.
type failureLog struct {
	life    *lifetime
	mu      sync.Mutex
	failed  []policy.HostFailure // the latest last
	running []*hostAttempt
}

// hostAttempt is a lookup of a granted name (port 0), or a connection to a granted host.
type hostAttempt struct {
	host  string
	port  int
	began time.Time
}

func (l *failureLog) begin(host string, port int) func(error) {
	a := &hostAttempt{host, port, time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = append(l.running, a)
	return func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running = slices.DeleteFunc(l.running, func(o *hostAttempt) bool { return o == a })
		l.failed = slices.DeleteFunc(l.failed, func(f policy.HostFailure) bool { return f.Host == a.host && f.Port == a.port })
		givenUp := errors.Is(err, context.Canceled)
		if err == nil || isRefusal(err) || l.life.jailCtx.Err() != nil || givenUp && time.Since(a.began) < slowAttempt {
			return
		}
		l.failed = append(l.failed, policy.HostFailure{Host: host, Port: port, Answer: hostAnswer(err, port), Time: time.Now()})
		l.failed = l.failed[max(0, len(l.failed)-maxFailures):]
	}
}

// HostFailures returns the granted hosts that could not be reached, and those that have not
// answered yet, the latest last.
func (g *Gateway) HostFailures() []policy.HostFailure {
	l := &g.failures
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.failed)
	now := time.Now()
	for _, a := range l.running {
		if now.Sub(a.began) >= slowAttempt {
			out = append(out, policy.HostFailure{Host: a.host, Port: a.port, Answer: noAnswer(a.port), Time: now})
		}
	}
	return out
}

// noAnswer returns the text for a host that does not answer on a port. Port 0 is the DNS.
func noAnswer(port int) string {
	if port == 0 {
		return "the DNS does not answer"
	}
	return "it does not answer"
}

func hostAnswer(err error, port int) string {
	var dns *net.DNSError
	isDNS := errors.As(err, &dns)
	switch {
	case strings.HasPrefix(err.Error(), ofProxy):
		return err.Error()
	case isNotFound(err):
		return "no such host"
	case errors.Is(err, errTooManyLookups):
		return errTooManyLookups.Error()
	case isDNS && dns.IsTimeout:
		return noAnswer(0)
	case isDNS:
		return "the DNS fails: " + dns.Err
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "there is no route to it"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return noAnswer(port)
	}
	return err.Error()
}
