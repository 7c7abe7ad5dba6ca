package confine

import (
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Unanswered returns the ports of the jail's own loopback to which the server connected while no
// program of the jail listened there, since a time, the latest last. Ports that lead into the jail are
// left out, and those at which a program of the jail listens by now. A jail without namespaces has no
// loopback of its own: what it refuses is a denial.
func (p *Process) Unanswered(since time.Time) []policy.Unanswered {
	p.mu.Lock()
	events, plan := p.events, p.plan
	p.mu.Unlock()
	if events != nil {
		events.Drain()
	}
	_, all := p.network.Denials()
	p.mu.Lock()
	all = append(all, p.unanswered...)
	pid, running := p.pid, p.pidfd >= 0
	p.mu.Unlock()
	all = slices.DeleteFunc(all, func(u policy.Unanswered) bool {
		return u.Last.Before(since) || slices.Contains(plan.Profile.Inbound, u.Port)
	})
	if len(all) == 0 {
		return nil
	}
	granted := egress.Ports(plan.Profile.Net) // the gateway listens there
	if running {                              // else another process may have its number
		own, _ := proc.Listening(pid)
		all = slices.DeleteFunc(all, func(u policy.Unanswered) bool {
			return slices.Contains(own, u.Port) && !slices.Contains(granted, uint16(u.Port))
		})
	}
	slices.SortStableFunc(all, func(a, b policy.Unanswered) int { return a.Last.Compare(b.Last) })
	return all
}

// Listening returns the TCP ports at which programs of the jail listen, sorted. known is false if the
// jail has ended, or has no network of its own.
func (p *Process) Listening() (ports []int, known bool) {
	// The supervisor is our child: until it has been waited for, no other process has its number.
	return proc.Listening(p.PID())
}

// HostListens returns a function that reports whether a program of this host listens now at a port of
// its loopback: "localhost", or another loopback address. It returns nil where that cannot be seen.
func HostListens() func(host string, port int) bool {
	const dir = "/proc/self/net"
	if !proc.ShowsListeners(dir) {
		return nil
	}
	return func(host string, port int) bool { return proc.LoopbackListeners(dir)(host, port) }
}
