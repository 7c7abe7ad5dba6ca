package diagnostics

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// host judges a host that a text names together with a fault of the network.
func (j *judge) host(m mention) verdict {
	name := loopbackName(m.name)
	target := endpoint(name, m.port)
	if granted(j.profile.Net, name, m.port, m.scheme) {
		return verdict{
			note: "the policy grants " + quote(target) + ": the name or the connection failed outside of the jail",
			fix:  "see whether " + quote(target) + " can be reached without mcp-jail",
		}
	}
	if _, err := netip.ParseAddr(name); err == nil && grantsNames(j.profile.Net) {
		// It may be what a granted name resolves to; the text does not say.
		return verdict{note: "the message names the address " + quote(target) + ", which no rule names; it may belong to a host that is granted"}
	}
	cause := "the server's message names the host " + quote(target) + ", which the policy does not grant"
	if len(j.profile.Net) == 0 {
		cause += " (it grants no network)"
	}
	return j.blameHost(Likely, name, m.port, m.scheme, cause)
}

// blameHost is the verdict that a host is refused, with the rule to add.
func (j *judge) blameHost(a Attribution, host string, port int, scheme, cause string) verdict {
	n := need{host: host, port: port, scheme: scheme}
	switch {
	case scheme == "https" && port == 443, scheme == "http" && port == 80:
		n.port = 0 // the scheme's own
	case scheme != "" && port != 0:
	case port == 443:
		n.scheme, n.port = "https", 0
	case port == 80:
		n.scheme, n.port = "http", 0
	case port != 0:
		n.scheme = "tcp"
	case scheme == "tcp":
		n.scheme = "" // policy.md: tcp wants a port
	}
	v := j.blame(a, policy.AxisNet, endpoint(host, port), "connect", cause, n)
	switch addr, err := netip.ParseAddr(host); {
	case host == "localhost":
		v.hint.Warning = "localhost is the host's own: the line lets the server reach the service that listens there"
	case err == nil && addr.IsLinkLocalUnicast():
		v.hint.Warning = host + " is link-local: such addresses serve credentials to cloud machines"
	case err == nil && !addr.IsPrivate():
		v.fix = "prefer the name of the host to its address"
	}
	return v
}

// loopbackName is the name that rules have for the host itself.
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

// granted evaluates the network rules for what a text tells of a connection: the
// most specific rule whose host, and whose port and scheme as far as they are
// known, match. A rule for one path counts as a grant of the host: the text does
// not name the path that was refused.
func granted(rules []policy.NetRule, host string, port int, scheme string) bool {
	best, allow := -1, false
	for _, r := range rules {
		s := hostScore(r.Host, host)
		if s < 0 || !portMatches(r, port, scheme) || r.PathPrefix != "" && !r.Allow {
			continue
		}
		s *= 8
		if r.Scheme != "" {
			s++
		}
		if r.Port != 0 {
			s++
		}
		if s >= best {
			best, allow = s, r.Allow
		}
	}
	return allow
}

// hostScore is how specifically a pattern matches a host, -1 when it does not.
func hostScore(pattern, host string) int {
	switch {
	case pattern == host:
		return 1 << 10
	case pattern == "*":
		return 0
	case strings.HasPrefix(pattern, "*.") && strings.HasSuffix(host, pattern[1:]) && len(host) > len(pattern)-1:
		return len(pattern)
	}
	return -1
}

func portMatches(r policy.NetRule, port int, scheme string) bool {
	if scheme != "" && r.Scheme != "" && r.Scheme != scheme && !(scheme == "tcp" || r.Scheme == "tcp") {
		return false
	}
	switch {
	case port == 0:
		return true
	case r.Port != 0:
		return r.Port == port
	case r.Scheme == "http":
		return port == 80
	case r.Scheme == "https":
		return port == 443
	}
	return port == 80 || port == 443
}

// grantsNames tells whether any rule lets a name through, whose addresses a text
// may then hold.
func grantsNames(rules []policy.NetRule) bool {
	for _, r := range rules {
		if _, err := netip.ParseAddr(r.Host); err != nil && r.Allow && r.Host != "localhost" {
			return true
		}
	}
	return false
}
