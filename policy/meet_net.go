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

// meetNet returns rules that allow what both lists allow: the refusals of both, and for each pair of rules that
// allow, the one for the requests of both.
func meetNet(a, b []NetRule) (out []NetRule, err error) {
	if reflect.DeepEqual(a, b) {
		return a, nil
	}
	add := func(r NetRule) {
		if !slices.ContainsFunc(out, func(o NetRule) bool { return slices.Equal(o.TOMLFields(), r.TOMLFields()) }) {
			out = append(out, r)
		}
	}
	for _, r := range slices.Concat(a, b) {
		if !r.Allow {
			add(r)
		}
	}
	for _, x := range a {
		for _, y := range b {
			both, some := x.and(y)
			if !some {
				continue
			}
			if err := CheckNetRule(both); err != nil {
				return nil, &ConflictError{Reason: fmt.Sprintf("%s: host = %s and %s: host = %s have no rule for what both allow: %s", x.Where, show.TOML(x.Host), y.Where, show.TOML(y.Host), err)}
			}
			add(both)
		}
	}
	return out, nil
}

// Includes reports whether a rule allows all that another allows, with the same secrets.
func (r NetRule) Includes(o NetRule) bool {
	both, some := r.and(o)
	own, _ := o.and(o) // in the same form
	return some && slices.Equal(both.TOMLFields(), own.TOMLFields())
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

// isLoopback reports whether a host is localhost, or one of its two addresses.
func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
