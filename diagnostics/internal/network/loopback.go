package network

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
)

// Unanswered returns the findings for the ports of the jail's own loopback at which no program
// listened when the server connected. If a program of the host listens at the port, the policy is the
// likely cause. If no program does, the finding is a note. The latest comes first.
// Those with old set were met also where nothing failed, or before the failing work.
func Unanswered(c *facts.Case) (found []facts.Finding, old []bool) {
	for _, u := range slices.Backward(c.Evidence.Unanswered) {
		target := said.Endpoint(u.Host, u.Port)
		if c.Evidence.Listens == nil || grantsHost(c.Profile.Net, u.Host, u.Port, "") {
			continue
		}
		f, absent := notOnHost(c, u.Host, u.Port)
		if !absent {
			cause := "the server tried to reach " + c.Quote(target) + "; the jail has a loopback of its own, where no program listens at that port, and on this host one does"
			f = checkRefused(c, attributeHost(report.Likely, u.Host, u.Port, "", cause))
		}
		found, old = append(found, f), append(old, u.Background)
	}
	return found, old
}

// notOnHost returns the note for a port of the host's loopback that no rule grants, if no program of
// this host listens there. To grant it would change nothing.
func notOnHost(c *facts.Case, host string, port int) (f facts.Finding, ok bool) {
	if port == 0 || !IsLoopback(host) || c.Evidence.Listens == nil {
		return f, false
	}
	if slices.Contains(c.Profile.Inbound, port) {
		return facts.Finding{
			Note: "port " + strconv.Itoa(port) + " leads from this host into the jail, and the server itself does not listen there",
			Fix:  "the server must listen at the port before it connects to it",
		}, true
	}
	if c.Evidence.Listens(host, port) {
		return f, false
	}
	return facts.Finding{
		Note: "nothing listens on this host either (port " + strconv.Itoa(port) + ")",
		Fix:  "start the service that the server looks for at " + c.Quote(said.Endpoint(host, port)),
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

// SamePort reports whether two findings are about one port of the host's loopback.
func SamePort(f, other facts.Finding) bool {
	a, b := f.Grant, other.Grant
	return a.Host != "" && a.Host == b.Host && IsLoopback(a.Host) && slices.Equal(a.NetRule().Ports(), b.NetRule().Ports())
}

// otherWords are words of failures, in lower case, that have nothing to do with a connection.
var otherWords = []string{
	"invalid", "unauthorized", "forbidden", "required", "must be", "validation", "unexpected token", "syntax",
	"not a function", "is not defined", "unknown tool", "401", "403", "404", "429",
}

// About reports whether words of a failure are about a connection, as no words may be, or about
// something else.
func About(words []string) (connection, other bool) {
	connection = true
	for _, line := range words {
		if strings.TrimSpace(line) == "" {
			continue
		}
		fault, _ := said.MatchFault(line)
		if lower := strings.ToLower(line); fault == said.Network || said.ContainsAny(lower, connectionWords) {
			return true, false
		} else if fault != said.NoFault || said.ContainsAny(lower, otherWords) {
			other = true
		}
		connection = false
	}
	return connection, other
}
