//go:build !seatbelt

package confine

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
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
	events, gateway, plan, hostNS := p.events, p.gateway, p.plan, p.broker != nil
	p.mu.Unlock()
	if events != nil {
		events.Drain()
	}
	var all []policy.Unanswered
	if gateway != nil {
		_, all = networkDenials(gateway, plan.Profile, hostNS)
	}
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

// networkDenials returns the refusals of the gateway. In a jail with namespaces, a connection to the
// loopback that no rule is about reached no program of the jail, and is not a refusal. networkDenials
// leaves out refused connections to the jail's inbound ports, too: the launcher makes these before
// the server listens.
func networkDenials(g *egress.Gateway, profile *policy.Profile, hostNS bool) (denials []policy.Denial, unanswered []policy.Unanswered) {
	denials = slices.DeleteFunc(g.Denials(), func(d policy.Denial) bool {
		host, number, err := net.SplitHostPort(d.Target)
		if err != nil {
			return false
		}
		port, _ := strconv.Atoi(number)
		if a, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !a.IsLoopback()) {
			return false
		}
		if !hostNS && d.Reason == policy.DeniedNotGranted && d.Operation == "connect" &&
			!slices.ContainsFunc(profile.Net, func(r policy.NetRule) bool { return r.Host == host && r.Covers(host, port) }) {
			unanswered = append(unanswered, policy.Unanswered{Host: host, Port: port, Time: d.Time, Last: d.Latest()})
			return true
		}
		return host == "localhost" && slices.Contains(profile.Inbound, port)
	})
	return denials, unanswered
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
