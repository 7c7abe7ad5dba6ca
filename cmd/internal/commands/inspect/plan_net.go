package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// networkText returns a line for each rule, inbound port and secret. If the network axis has
// gaps, it does not claim that requests are inspected.
func networkText(p *policy.Profile, gaps bool) string {
	var b strings.Builder
	if len(p.Net)+len(p.Inbound) == 0 {
		return "  none\n"
	}
	for _, r := range p.Net {
		words := netRuleText(r)
		switch {
		case gaps || !slices.ContainsFunc(r.Ports(), func(port int) bool { return isInspected(p.Net, r, port) }):
		case r.Scheme == "http":
			words += "; each request is inspected outside the jail"
		default:
			words += "; TLS is intercepted outside the jail, and each request is inspected there"
		}
		fmt.Fprintf(&b, "  %s\n", show.Line(words))
	}
	for _, port := range p.Inbound {
		fmt.Fprintf(&b, "  connections to port %d of the host's loopback reach the server\n", port)
	}
	for _, s := range p.Secrets {
		fmt.Fprintf(&b, "  secret %s: %s\n", s.Env, show.Line(s.Source()))
	}
	return b.String()
}

// isInspected reports whether requests to a port that a rule covers are inspected, because
// of this rule or another.
func isInspected(rules []policy.NetRule, r policy.NetRule, port int) bool {
	host := strings.Replace(r.Host, "*", "any", 1)
	scheme := r.Scheme
	if scheme == "" {
		scheme = map[int]string{80: "http"}[port]
	}
	return policy.AnyNeedsInterception(rules, host, scheme, port)
}

func portText(r policy.NetRule) string {
	ports := r.Ports()
	switch {
	case !r.Allow && r.Port == 0:
		return " on every port"
	case len(ports) == 2:
		return fmt.Sprintf(" ports %d and %d", ports[0], ports[1])
	}
	return fmt.Sprintf(" port %d", ports[0])
}

func netRuleText(r policy.NetRule) string {
	verb := "refuse"
	if r.Allow {
		verb = "allow"
	}
	s := verb + " " + r.Host
	if r.Scheme != "" {
		s += " " + r.Scheme
	}
	s += portText(r)
	if r.PathPrefix != "" {
		s += " " + r.PathPrefix
	}
	if len(r.Methods) > 0 {
		s += " " + strings.Join(r.Methods, " ")
	}
	for _, secret := range r.Secrets {
		s += " with the secret " + secret.Env
		if secret.Header != nil {
			s += " in " + strings.Join(secret.Header, ", ")
		}
	}
	return s
}
