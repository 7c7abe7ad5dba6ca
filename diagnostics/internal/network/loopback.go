package network

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
)

// Unanswered returns the findings for the ports of the jail's own loopback at which no program
// listened when the server connected, and at which one of this machine does. The latest comes first.
// They count unless the failing lines, which name no refused host, have another cause; those that
// the server tries also where nothing fails need lines about a connection, or none.
func Unanswered(c *facts.Case, lines []string) (found []facts.Finding) {
	fault, _ := words.FaultOf(lines)
	host := slices.ContainsFunc(words.Names(lines), func(n words.Name) bool { return n.Kind == words.Host })
	connection := fault == words.Network || len(lines) == 0 || c.Evidence.Timeout > 0
	if host || !connection && (fault != words.NoFault || slices.ContainsFunc(lines, words.OwnFault)) {
		return nil
	}
	for _, u := range slices.Backward(c.Evidence.Unanswered) {
		if u.Background && !connection || c.Evidence.Listens == nil || grantsHost(c.Profile.Net, u.Host, u.Port, "") {
			continue
		}
		if _, absent := notOnHost(c, u.Host, u.Port); !absent {
			cause := "the server tried to reach " + c.Name(words.Endpoint(u.Host, u.Port)) + ", which is in the jail its own loopback, and this machine has a program there"
			found = append(found, checkRefused(c, attributeHost(report.Likely, u.Host, u.Port, "", cause)))
		}
	}
	return found
}

// notOnHost returns the note for a port of the host's loopback that no rule grants, if no program of
// this host listens there. To grant it would change nothing.
func notOnHost(c *facts.Case, host string, port int) (f facts.Finding, ok bool) {
	if port == 0 || !IsLoopback(host) || c.Evidence.Listens == nil {
		return f, false
	}
	if slices.Contains(c.Profile.Inbound, port) {
		return facts.Finding{
			Note: "port " + strconv.Itoa(port) + " leads from this machine into the jail, and the server itself does not listen there",
			Fix:  "the server must listen at the port before it connects to it",
		}, true
	}
	if c.Evidence.Listens(host, port) {
		return f, false
	}
	return facts.Finding{
		Note: "nothing listens on this machine either (port " + strconv.Itoa(port) + ")",
		Fix:  "start the service that the server looks for at " + c.Name(words.Endpoint(host, port)),
	}, true
}

// IsLoopback reports whether a host of a rule is the host itself.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// loopbackName returns "localhost" for the loopback addresses that a rule for it grants, and for
// those of no address, which lead there. It returns any other host unchanged.
func loopbackName(host string) string {
	addr, err := netip.ParseAddr(host)
	if addr = addr.Unmap(); err == nil && (addr == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || addr == netip.IPv6Loopback() || addr.IsUnspecified()) {
		return "localhost"
	}
	return host
}
