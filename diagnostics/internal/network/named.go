package network

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// An Ungranted is a host that the server's arguments or granted variables name, and that the policy
// does not grant.
type Ungranted struct {
	Host     string
	Port     int
	Scheme   string
	Variable string // "" for an argument
}

// UngrantedHosts returns the hosts that the user's own words name and the policy does not grant, each
// once: first those of the arguments. It leaves out the loopback, on which the jail tells more.
func UngrantedHosts(c *facts.Case) (all []Ungranted) {
	add := func(u Ungranted) {
		if isHere(u.Host) || grantsHost(c.Profile.Net, u.Host, u.Port, u.Scheme) || slices.ContainsFunc(all, func(o Ungranted) bool { return o.Host == u.Host }) {
			return
		}
		all = append(all, u)
	}
	args := c.Profile.Argv[min(1, len(c.Profile.Argv)):]
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined || !strings.HasPrefix(arg, "-") {
			name, value = "", arg
			if i > 0 && strings.HasPrefix(args[i-1], "-") {
				name = args[i-1]
			}
		}
		for _, ref := range said.NamedHosts(name, value, "") {
			add(Ungranted{Host: ref.Name, Port: ref.Port, Scheme: ref.Scheme})
		}
	}
	variables := c.GrantedVariables()
	for _, v := range variables {
		port := "" // DB_PORT beside DB_HOST
		for _, o := range variables {
			if base, is := strings.CutSuffix(v.Name, "HOST"); is && o.Name == base+"PORT" {
				port = o.Value
			}
		}
		for _, ref := range said.NamedHosts(v.Name, v.Value, port) {
			add(Ungranted{Host: ref.Name, Port: ref.Port, Scheme: ref.Scheme, Variable: v.Name})
		}
	}
	return all
}

// isHere reports whether a host is the machine or the jail itself.
func isHere(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && (addr.Unmap().IsLoopback() || addr.IsUnspecified())
}

// AttributeUngranted returns the finding that a host that the user's own words name is not granted.
func AttributeUngranted(c *facts.Case, sure report.Attribution, u Ungranted) facts.Finding {
	where := "which the server's arguments name"
	if u.Variable != "" {
		where = "which the variable " + u.Variable + " names"
	}
	cause := "the policy does not grant the host " + c.Quote(said.Endpoint(u.Host, u.Port)) + ", " + where
	if !slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow }) {
		cause += " (it grants no network)"
	}
	return checkRefused(c, attributeHost(sure, u.Host, u.Port, u.Scheme, cause))
}
