package network

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Named returns the finding that the policy does not grant a host which a failing line names. It
// returns the zero finding for one that it grants, or that is not there on this machine either.
func Named(c *facts.Case, n words.Name) facts.Finding {
	name := loopbackName(n.Text)
	target := words.Endpoint(name, n.Port)
	if grantsHost(c.Profile.Net, name, n.Port, n.Scheme) {
		if c.Mac() && n.Fault == words.Network { // no program that uses the proxy looks a name up
			return facts.Finding{
				Note: c.Name(target) + " is granted, but the program connects by itself, and on macOS hosts are reached by the session's proxy only",
				Fix:  "no rule changes this: have it use the proxy in HTTPS_PROXY, or in ALL_PROXY by SOCKS5",
				Hint: report.Hint{Explain: report.PageNetProxy}, NoLine: true, AboutPolicy: true,
			}
		}
		return facts.Finding{}
	}
	if _, absent := notOnHost(c, name, n.Port); absent {
		return facts.Finding{}
	}
	addr, err := netip.ParseAddr(name)
	switch {
	case err == nil && addr.IsMulticast():
		return facts.Finding{} // a row of known programs says it
	case err == nil && !IsLoopback(name) && grantsNames(c.Profile.Net):
		return facts.Finding{} // a granted name may lead to this address
	case IsLoopback(name) && n.Port == 0:
		return facts.Finding{}
	}
	cause := c.Who() + " may not reach " + c.Name(target)
	return checkRefused(c, attributeHost(report.Likely, name, n.Port, n.Scheme, cause))
}

func attributeHost(sure report.Attribution, host string, port int, scheme, cause string) facts.Finding {
	// The shortest rule: a scheme implies a port, and a port often a scheme.
	n := grants.Grant{Host: host, Port: port, Scheme: scheme}
	switch {
	case scheme == "https" && port == 443, scheme == "http" && port == 80:
		n.Port = 0 // implied by the scheme
	case scheme != "" && port != 0:
	case port == 443:
		n.Scheme, n.Port = "https", 0
	case port == 80:
		n.Scheme, n.Port = "http", 0
	case port != 0:
		n.Scheme = "tcp"
	case scheme == "tcp":
		n.Scheme = "" // docs/policy.md "Network rules": tcp needs a port
	}
	if _, err := policy.NormalizeHost(host); err != nil {
		n = grants.Grant{} // no rule can name it
	}
	f := facts.Refused(sure, policy.AxisNet, words.Endpoint(host, port), "connect", cause, n)
	switch addr, err := netip.ParseAddr(host); {
	case IsLoopback(host):
		f.Fix = host + " is this machine: grant it only for a service that you know"
	case err == nil && !addr.IsPrivate() && !addr.IsLinkLocalUnicast():
		f.Fix = "prefer the host's name to its address"
	}
	return f
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

func grantsNames(rules []policy.NetRule) bool {
	return slices.ContainsFunc(rules, func(r policy.NetRule) bool {
		_, err := netip.ParseAddr(r.Host)
		return err != nil && r.Allow && r.Host != "localhost"
	})
}

// Unreached returns the finding for a granted host that this machine could not reach, if the failing
// lines name it or tell of a connection, or the server did not answer in time.
func Unreached(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	fault, _ := words.FaultOf(lines)
	about := c.Evidence.Timeout > 0 || fault == words.Network || slices.ContainsFunc(lines, words.IsAboutConnection)
	var found *policy.HostFailure
	for i := range c.Evidence.HostFailures { // the latest is the last
		h := &c.Evidence.HostFailures[len(c.Evidence.HostFailures)-1-i]
		if slices.ContainsFunc(lines, func(line string) bool { return len(h.Host) > 2 && strings.Contains(line, h.Host) }) {
			found = h
			break
		}
		if about && found == nil {
			found = h
		}
	}
	if found == nil {
		return f, false
	}
	verb := "connect to it"
	if found.Port == 0 {
		verb = "resolve it"
	}
	target := c.Name(words.Endpoint(found.Host, found.Port))
	return facts.Finding{
		Note: target + " is allowed, and this machine could not " + verb + ": " + show.Line(c.Evidence.Redactor.Redact(found.Answer)),
		Fix:  "no rule changes this: see whether this machine reaches " + target + " without mcp-jail",
		Hint: report.Hint{Explain: report.PageNetUnreachable}, AboutPolicy: true, NoLine: true,
	}, true
}
