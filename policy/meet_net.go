package policy

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/internal/urlpath"
)

// meetNet returns rules that allow what both lists allow: for each pair of rules that allow, the one for the
// requests of both. The refusals of both lists go before them. Where one of these decided before a rule,
// its part of that pair comes last.
func meetNet(a, b []NetRule) (out []NetRule, err error) {
	if reflect.DeepEqual(a, b) {
		return a, nil
	}
	var allowed, parts []NetRule
	for _, x := range a {
		for _, y := range b {
			both, some := x.and(y)
			if !some || slices.ContainsFunc(allowed, func(r NetRule) bool { return slices.Equal(r.TOMLFields(), both.TOMLFields()) }) {
				continue
			}
			held, dropped := both.heldBy(append(x.deciders(a), y.deciders(b)...))
			if dropped {
				continue
			}
			if err := CheckNetRule(both); err != nil {
				return nil, &ConflictError{Reason: fmt.Sprintf("%s: host = %s and %s: host = %s have no rule for what both allow: %s", x.Where, show.TOML(x.Host), y.Where, show.TOML(y.Host), err)}
			}
			allowed = append(allowed, both)
			for _, n := range held {
				parts = append(parts, n.part(both))
			}
		}
	}
	for _, n := range slices.Concat(a, b) {
		if !n.Allow && !slices.ContainsFunc(out, func(r NetRule) bool { return slices.Equal(r.TOMLFields(), n.TOMLFields()) }) {
			out = append(out, n)
		}
	}
	return append(append(out, allowed...), parts...), nil
}

// RefuseNet returns rules without what refusals refuse, whatever is more specific.
func RefuseNet(rules, refusals []NetRule) (out []NetRule) {
	out = slices.Clone(refusals)
	var parts []NetRule
	for _, r := range rules {
		var held []NetRule
		dropped := false
		if r.Allow {
			held, dropped = r.heldBy(refusals)
		}
		if dropped {
			continue
		}
		out = append(out, r)
		for _, n := range held {
			parts = append(parts, n.part(r))
		}
	}
	return append(out, parts...)
}

// and returns the rule for the requests that two rules allow. Its secrets are those of r.
func (r NetRule) and(o NetRule) (both NetRule, some bool) {
	both = r
	switch {
	case !r.Allow || !o.Allow:
		return both, false
	case r.Host != o.Host && (namesAddress(r.Host) || namesAddress(o.Host)):
		return both, false // no wildcard allows an address that has to be named
	case hostIncludes(r.Host, o.Host):
		both.Host = o.Host
	case !hostIncludes(o.Host, r.Host):
		return both, false
	}
	switch {
	case r.Scheme == "" || r.Scheme == "tcp":
		both.Scheme = o.Scheme
	case o.Scheme != "" && o.Scheme != "tcp" && o.Scheme != r.Scheme:
		return both, false
	}
	ports := slices.DeleteFunc(slices.Clone(r.Ports()), func(port int) bool { return !slices.Contains(o.Ports(), port) })
	if len(ports) == 0 {
		return both, false
	}
	if both.Port = 0; !slices.Equal(both.Ports(), ports) {
		both.Port = ports[0]
	}
	mine, theirs := urlpath.Prefix(r.PathPrefix), urlpath.Prefix(o.PathPrefix)
	switch {
	case beginsWith(mine, theirs):
		both.PathPrefix = o.PathPrefix
	case !beginsWith(theirs, mine):
		return both, false
	}
	switch {
	case len(r.Methods) == 0:
		both.Methods = o.Methods
	case len(o.Methods) > 0:
		both.Methods = slices.DeleteFunc(slices.Clone(r.Methods), func(m string) bool { return !slices.Contains(o.Methods, m) })
		if len(both.Methods) == 0 {
			return both, false
		}
	}
	if both.Scheme != "" && both.Scheme != "https" {
		both.Secrets = nil // they are not sent there
	}
	return both, true
}

// deciders returns the refusals of a list that decide before r.
func (r NetRule) deciders(rules []NetRule) (out []NetRule) {
	after := false
	for _, n := range rules {
		switch {
		case n.Allow:
			after = after || reflect.DeepEqual(n, r)
		case n.outranks(r) || after && !r.outranks(n) || isLoopbackPair(n.Host, r.Host):
			out = append(out, n)
		}
	}
	return out
}

// heldBy returns the refusals that the rule would lift in part. It reports with dropped that one of them makes
// the rule useless.
func (r NetRule) heldBy(refusals []NetRule) (held []NetRule, dropped bool) {
	for _, n := range refusals {
		switch {
		case !n.meets(r):
		case n.includes(r) || r.Scheme == "tcp" && n.conditional():
			return nil, true
		default:
			held = append(held, n)
		}
	}
	return held, false
}

// meets reports whether there may be a request that both a refusal and a rule that allows are
// about. Two schemes meet in a connection of which only the port is known.
func (n NetRule) meets(r NetRule) bool {
	hosts := hostIncludes(n.Host, r.Host) || hostIncludes(r.Host, n.Host) || isLoopbackPair(n.Host, r.Host)
	ports := n.Port == 0 || slices.Contains(r.Ports(), n.Port)
	return hosts && ports && (pathIncludes(n, r) || pathIncludes(r, n)) && len(n.sharedMethods(r)) > 0
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

// namesAddress reports whether a host is an address or localhost, which CheckAddress lets be dialled where a
// rule names them.
func namesAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost"
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
