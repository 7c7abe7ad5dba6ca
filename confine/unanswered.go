package confine

import (
	"net/netip"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// maxUnanswered bounds the ports that are kept, since the server chooses addresses and ports.
const maxUnanswered = 64

// noteUnanswered adds what the supervisor saw of a port. The latest ones are kept.
func noteUnanswered(all []policy.Unanswered, m spec.Event, now time.Time) []policy.Unanswered {
	if m.Detail == spec.NowAnswered {
		return slices.DeleteFunc(all, func(u policy.Unanswered) bool { return u.Port == m.Num })
	}
	host := loopbackHost(m.Target)
	for i := range all {
		if all[i].Host == host && all[i].Port == m.Num {
			all[i].Last = now
			return all
		}
	}
	if len(all) == maxUnanswered {
		oldest := 0
		for i := range all {
			if all[i].Last.Before(all[oldest].Last) {
				oldest = i
			}
		}
		all = slices.Delete(all, oldest, oldest+1)
	}
	return append(all, policy.Unanswered{Host: host, Port: m.Num, Time: now, Last: now})
}

// loopbackHost returns the host of a rule for a loopback address.
func loopbackHost(addr string) string {
	switch a, err := netip.ParseAddr(addr); {
	case err != nil, !a.IsLoopback() && !a.IsUnspecified(), a.Is4() && a.IsLoopback() && a != netip.AddrFrom4([4]byte{127, 0, 0, 1}):
		return addr
	}
	return "localhost"
}
