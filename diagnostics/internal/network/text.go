package network

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Analyze analyzes a host that a text names together with a network fault.
func Analyze(c *facts.Case, ref said.Reference) facts.Finding {
	name := loopbackName(ref.Name)
	target := said.Endpoint(name, ref.Port)
	if f, ok := textUnproxied(c, ref, target); ok {
		return f
	}
	if grantsHost(c.Profile.Net, name, ref.Port, ref.Scheme) {
		return facts.Finding{
			Note: "the policy grants " + c.Quote(target) + ": the name or the connection failed outside of the jail",
			Fix:  "see whether " + c.Quote(target) + " can be reached without mcp-jail",
		}
	}
	if f, ok := notOnHost(c, name, ref.Port); ok {
		return f
	}
	if _, err := netip.ParseAddr(name); err == nil && !IsLoopback(name) && grantsNames(c.Profile.Net) {
		// A granted name may resolve to this address. The text does not tell.
		return facts.Finding{Note: "the message names the address " + c.Quote(target) + ", which no rule names; it may belong to a granted host"}
	}
	cause := "the server's message names the host " + c.Quote(target) + ", which the policy does not grant"
	if len(c.Profile.Net) == 0 {
		cause += " (it grants no network)"
	}
	return attributeHost(report.Likely, name, ref.Port, ref.Scheme, cause)
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
	f := facts.Refused(sure, policy.AxisNet, said.Endpoint(host, port), "connect", cause, n)
	switch addr, err := netip.ParseAddr(host); {
	case IsLoopback(host):
		f.Fix = host + " is the host itself: grant it only for a service that you know"
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

// connectionWords are the words of programs, in lower case, about a connection that ends or does
// not answer. The jail accepts a connection to a granted host before this machine has reached that
// host. So the server sees a refused connection as one that ends, too.
var connectionWords = []string{
	"connection", "connect", "econnreset", "socket hang up", "hung up", "timed out", "timeout", "time-out", "eof",
	"tls", "ssl", "network", "resolve", "unreachable", "reset by peer", "closed by",
}

// Unreached returns the finding for a granted host that this machine could not reach, if the
// text of the failure names the host or is about a connection, or the server did not answer in
// time. own are the lines that are text of the failure.
func Unreached(c *facts.Case, own []string) (f facts.Finding, ok bool) {
	about := c.Evidence.Timeout > 0 || slices.ContainsFunc(own, func(line string) bool {
		fault, _ := said.MatchFault(line)
		return fault == said.Network || said.ContainsAny(strings.ToLower(line), connectionWords)
	})
	var latest *policy.HostFailure
	for i := range c.Evidence.HostFailures {
		h := &c.Evidence.HostFailures[len(c.Evidence.HostFailures)-1-i] // the latest is the last
		named := slices.ContainsFunc(own, func(line string) bool { return len(h.Host) > 2 && strings.Contains(line, h.Host) })
		if named {
			latest = h
			break
		}
		if about && latest == nil {
			latest = h
		}
	}
	if latest == nil {
		return f, false
	}
	verb := "connect to it"
	if latest.Port == 0 {
		verb = "resolve it"
	}
	target := c.Quote(said.Endpoint(latest.Host, latest.Port))
	return facts.Finding{
		Note: target + " is granted; this machine could not " + verb + ": " + show.Line(c.Evidence.Redactor.Redact(latest.Answer)),
		Fix:  "no line of a policy changes this: see whether this machine reaches " + target + " without mcp-jail",
		Hint: report.Hint{Explain: report.PageNetUnreachable}, AboutPolicy: true, NoLine: true,
	}, true
}
