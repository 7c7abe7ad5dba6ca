package policy

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/internal/urlpath"
)

// RefuseNet returns the rules without what refusals refuse, whatever is more specific: neither a
// rule nor a part of one lifts a refusal. lifts reports which of the rules may lift refusals. Of
// the others, lost has each one that a refusal meets, with that refusal.
func RefuseNet(rules, refusals []NetRule, lifts func(NetRule) bool) (out []NetRule, lost [][2]NetRule) {
	var parts []NetRule
	for _, r := range rules {
		if !r.Allow || lifts(r) {
			out = append(out, r)
			continue
		}
		held, dropped := r.heldBy(refusals, rules, lifts)
		if len(held) > 0 {
			lost = append(lost, [2]NetRule{r, held[0]})
		}
		if dropped {
			continue
		}
		out = append(out, r)
		for _, n := range held {
			parts = append(parts, n.part(r))
		}
	}
	for _, n := range refusals {
		if !slices.ContainsFunc(out, func(r NetRule) bool { return slices.Equal(r.TOMLFields(), n.TOMLFields()) }) {
			out = append(out, n)
		}
	}
	return append(out, parts...), lost
}

// heldBy returns the refusals that the rule would lift in part, or the first one that makes it
// useless, with dropped. A rule that meets a refusal with exceptions is dropped as a whole.
func (r NetRule) heldBy(refusals, rules []NetRule, lifts func(NetRule) bool) (held []NetRule, dropped bool) {
	for _, n := range refusals {
		if !n.meets(r) || n.outranks(r) && !isLoopbackPair(n.Host, r.Host) {
			continue
		}
		// A refusal with exceptions cannot be cut to the part that meets the rule.
		excepted := slices.ContainsFunc(rules, func(g NetRule) bool { return g.Allow && lifts(g) && n.meets(g) && !n.outranks(g) })
		if n.includes(r) || excepted || r.Scheme == "tcp" && n.conditional() {
			return []NetRule{n}, true
		}
		held = append(held, n)
	}
	return held, false
}

// meets reports whether there may be a request that both a refusal and a rule that allows are
// about.
func (n NetRule) meets(r NetRule) bool {
	hosts := hostIncludes(n.Host, r.Host) || hostIncludes(r.Host, n.Host) || isLoopbackPair(n.Host, r.Host)
	ports := n.Port == 0 || slices.Contains(r.Ports(), n.Port)
	schemes := n.Scheme == "" || r.Scheme == "" || n.Scheme == "tcp" || r.Scheme == "tcp" || n.Scheme == r.Scheme
	return hosts && ports && schemes && (pathIncludes(n, r) || pathIncludes(r, n)) && len(n.sharedMethods(r)) > 0
}

func (n NetRule) includes(r NetRule) bool {
	ports := n.Port == 0 || slices.Equal(r.Ports(), []int{n.Port})
	scheme := n.Scheme == "" || n.Scheme == "tcp" || n.Scheme == r.Scheme
	methods := len(n.Methods) == 0 || len(r.Methods) > 0 && len(n.sharedMethods(r)) == len(r.Methods)
	host := hostIncludes(n.Host, r.Host) || n.Host == "localhost" && isLoopbackPair(n.Host, r.Host)
	return host && ports && scheme && pathIncludes(n, r) && methods
}

// part returns the refusal for the requests that both are about. It has every condition of r, so r
// is not more specific.
func (n NetRule) part(r NetRule) NetRule {
	out := NetRule{Host: n.Host, Scheme: n.Scheme, Port: max(n.Port, r.Port), PathPrefix: n.PathPrefix, Where: n.Where}
	// An address is refused under every name, but not for some of its requests: see CheckAddress.
	if hostIncludes(n.Host, r.Host) || isLoopbackPair(n.Host, r.Host) && (n.Host == "localhost" || n.conditional() || r.conditional()) {
		out.Host = r.Host
	}
	if out.Scheme == "" || out.Scheme == "tcp" {
		out.Scheme = r.Scheme
	}
	if pathIncludes(n, r) {
		out.PathPrefix = r.PathPrefix
	}
	if len(n.Methods)+len(r.Methods) > 0 {
		out.Methods = n.sharedMethods(r)
	}
	return out
}

func hostIncludes(wide, narrow string) bool {
	suffix, wild := strings.CutPrefix(wide, "*")
	return wide == narrow || wild && strings.HasSuffix(narrow, suffix)
}

// isLoopbackPair reports whether one host is localhost and the other an address of it.
func isLoopbackPair(a, b string) bool {
	isAddress := func(h string) bool { return h == "127.0.0.1" || h == "::1" }
	return a == "localhost" && isAddress(b) || b == "localhost" && isAddress(a)
}

func pathIncludes(wide, narrow NetRule) bool {
	return beginsWide(urlpath.WideSegments(wide.PathPrefix), urlpath.WideSegments(narrow.PathPrefix))
}

// sharedMethods returns the methods that both are about; "" stands for any.
func (n NetRule) sharedMethods(r NetRule) (out []string) {
	switch {
	case len(r.Methods) == 0 && len(n.Methods) == 0:
		return []string{""}
	case len(r.Methods) == 0:
		return n.Methods
	}
	for _, m := range r.Methods {
		if len(n.Methods) == 0 || slices.ContainsFunc(n.Methods, func(own string) bool { return strings.EqualFold(own, m) }) {
			out = append(out, m)
		}
	}
	return out
}
