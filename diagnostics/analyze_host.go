package diagnostics

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzeHost analyzes a host that a text names together with a network fault.
func (a *analyzer) analyzeHost(ref said.Reference) finding {
	name := loopbackName(ref.Name)
	target := endpoint(name, ref.Port)
	if grantsHost(a.profile.Net, name, ref.Port, ref.Scheme) {
		return finding{
			note: "the policy grants " + a.quote(target) + ": the name or the connection failed outside of the jail",
			fix:  "see whether " + a.quote(target) + " can be reached without mcp-jail",
		}
	}
	if _, err := netip.ParseAddr(name); err == nil && grantsNames(a.profile.Net) {
		// A granted name may resolve to this address. The text does not tell.
		return finding{note: "the message names the address " + a.quote(target) + ", which no rule names; it may belong to a granted host"}
	}
	cause := "the server's message names the host " + a.quote(target) + ", which the policy does not grant"
	if len(a.profile.Net) == 0 {
		cause += " (it grants no network)"
	}
	return a.attributeHost(Likely, name, ref.Port, ref.Scheme, cause)
}

// attributeHost returns the finding that a host is refused, with the rule to add.
func (a *analyzer) attributeHost(sure Attribution, host string, port int, scheme, cause string) finding {
	n := grant{host: host, port: port, scheme: scheme}
	switch {
	case scheme == "https" && port == 443, scheme == "http" && port == 80:
		n.port = 0 // implied by the scheme
	case scheme != "" && port != 0:
	case port == 443:
		n.scheme, n.port = "https", 0
	case port == 80:
		n.scheme, n.port = "http", 0
	case port != 0:
		n.scheme = "tcp"
	case scheme == "tcp":
		n.scheme = "" // docs/policy.md "Network rules": tcp needs a port
	}
	if _, err := policy.NormalizeHost(host); err != nil {
		n = grant{} // no rule can name it
	}
	f := a.attribute(sure, policy.AxisNet, endpoint(host, port), "connect", cause, n)
	switch addr, err := netip.ParseAddr(host); {
	case host == "localhost":
		f.fix = "localhost is the host itself: grant it only for a service that you know"
	case err == nil && addr.IsLinkLocalUnicast():
		f.hint.Warning = host + " is link-local: cloud machines get credentials from such addresses"
	case err == nil && !addr.IsPrivate():
		f.fix = "prefer the host's name to its address"
	}
	return f
}

// loopbackName returns "localhost" for a loopback address, since rules name the host itself that
// way. It returns any other host unchanged.
func loopbackName(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Unmap().IsLoopback() {
		return "localhost"
	}
	return host
}

func endpoint(host string, port int) string {
	if port == 0 {
		return host
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]:" + strconv.Itoa(port)
	}
	return host + ":" + strconv.Itoa(port)
}

// grantsHost evaluates the network rules for what a text tells of a connection. A rule for
// some requests counts as a grant of the host, because the text does not name the refused
// path or method. An unknown port matches any granted port.
func grantsHost(rules []policy.NetRule, host string, port int, scheme string) bool {
	var open []policy.NetRule
	ports := []int{port}
	for _, r := range rules {
		if (r.PathPrefix != "" || r.Methods != nil) && !r.Allow {
			continue
		}
		r.PathPrefix, r.Methods = "", nil
		open = append(open, r)
		if port == 0 {
			ports = append(ports, r.Ports()...)
		}
	}
	return slices.ContainsFunc(ports, func(p int) bool {
		_, ok := policy.MatchNet(open, host, scheme, p, "", "")
		return ok
	})
}

// grantsNames reports whether a rule allows a name, whose addresses may then appear in a
// text.
func grantsNames(rules []policy.NetRule) bool {
	for _, r := range rules {
		if _, err := netip.ParseAddr(r.Host); err != nil && r.Allow && r.Host != "localhost" {
			return true
		}
	}
	return false
}
