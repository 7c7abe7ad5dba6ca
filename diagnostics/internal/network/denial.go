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

// AnalyzeDenial analyzes a denial of the jail's network.
func AnalyzeDenial(c *facts.Case, d policy.Denial, cause string) facts.Finding {
	f := causeOfNetDenial(c, d, cause)
	if f.Hint.Explain == "" {
		f.Hint.Explain = report.PageOfReason(d.Reason)
	}
	return f
}

func causeOfNetDenial(c *facts.Case, d policy.Denial, cause string) facts.Finding {
	if d.Operation == "listen" {
		return refusedPort(c, d, cause)
	}
	if report.IsNamelessLookup(d) || strings.HasPrefix(d.Target, "*:") || d.Operation == "socket" {
		// A jail without a network has no resolver that could see the name.
		f := facts.Refused(report.Certain, d.Axis, "", d.Operation, report.Blocked(d, ""), grants.Grant{})
		f.Fix = "mcp-jail does not know which host it wanted. To allow api.example.com, for example: " + show.Typed("mcp-jail grant", c.Evidence.Server) + " --net api.example.com"
		return f
	}
	host, port, scheme, ok := words.SplitEndpoint(d.Target)
	if !ok {
		return facts.Refused(report.Certain, d.Axis, d.Target, d.Operation, cause, grants.Grant{}).Unfixable("no rule grants this")
	}
	host = loopbackName(host)
	if d.Detail != "" && d.Reason != "" && d.Reason != policy.DeniedNotGranted {
		cause += ": " + show.Cut(show.Line(c.Evidence.Redactor.Redact(d.Detail)), report.MaxCause/2)
	}
	refusal := func(fix string) facts.Finding {
		f := facts.Refused(report.Certain, d.Axis, words.Endpoint(host, port), "connect", cause, grants.Grant{})
		f.Fix = fix
		return f
	}
	switch d.Reason {
	case policy.DeniedAddress:
		return analyzeAddressDenial(c, d, host, port, cause)
	case policy.DeniedWrongName:
		return refusal("a connection has to name the granted host in TLS and in HTTP. Another host that it names needs its own rule")
	case policy.DeniedWrongScheme:
		return analyzeSchemeDenial(c, d, host, port, cause)
	case policy.DeniedAmbiguous:
		return refusal("").Unfixable("no rule grants this: two readers could understand the request differently")
	case policy.DeniedRequest:
		return analyzeRequestDenial(c, d, host, port, cause)
	case policy.DeniedSecret:
		return refusal("a secret is inserted only into header fields for credentials: to allow another field, write its name beside env as header = \"NAME\"")
	case policy.DeniedLeak:
		return refusal("have the server send the request without it. leaks = \"warn\" lets such requests pass, with a warning")
	case policy.DeniedLimit:
		return analyzeNetLimit(c, d, host, port, cause)
	case policy.DeniedUnsupported:
		return refusal(c.PlanCommand() + " shows what is missing for it")
	}
	if d.Operation == "send" {
		return refusal("").Unfixable("no rule grants UDP: reach a granted host by TCP (QUIC falls back to it)")
	}
	if absent, ok := notOnHost(c, host, port); ok {
		return refusal("").Unfixable(absent.Note + ": " + absent.Fix)
	}
	return checkRefused(c, attributeHost(report.Certain, host, port, scheme, cause))
}

// checkRefused removes the grant of what another rule refuses: docs/policy.md "Network rules".
func checkRefused(c *facts.Case, f facts.Finding) facts.Finding {
	n := f.Grant
	if n.Host == "" {
		return f
	}
	var by policy.NetRule
	for _, port := range n.NetRule().Ports() {
		scheme := n.Scheme
		if scheme == "" {
			scheme = map[int]string{80: "http", 443: "https"}[port]
		}
		r, ok := policy.MatchNet(append(slices.Clone(c.Profile.Net), n.NetRule()), n.Host, scheme, port, "", "")
		if ok {
			return f
		}
		by = r
	}
	f.Grant = grants.Grant{}
	f.Fix = "the rule at " + by.Where + " refuses it, whatever other rules say: change that rule"
	return f
}

// analyzeAddressDenial analyzes a granted name that resolves to an address to which no
// name may lead. The detail is "ADDRESS is …", or several of them with commas.
func analyzeAddressDenial(c *facts.Case, d policy.Denial, host string, port int, cause string) facts.Finding {
	f := facts.Refused(report.Certain, d.Axis, words.Endpoint(host, port), "connect", cause, grants.Grant{})
	first, _, _ := strings.Cut(d.Detail, ", ")
	name, reason, _ := strings.Cut(first, " ")
	addr, err := netip.ParseAddr(name)
	if err != nil || strings.Contains(reason, "refused by a rule") {
		f.Fix = "a rule of the policy refuses the address: change that rule"
		return f
	}
	n := grants.Grant{Host: loopbackName(name)}
	for _, r := range c.Profile.Net {
		if r.Allow && r.Covers(host, port) {
			n.Scheme, n.Port = r.Scheme, r.Port
		}
	}
	// It may be refused even so: by another rule, or as an IPv4 address inside an IPv6 one.
	rule := n.NetRule()
	if _, ok := policy.CheckAddress(append(slices.Clone(c.Profile.Net), rule), addr, rule.Ports()[0], false); !ok {
		f.Fix = "a name does not grant this address, and no rule can grant it"
		return f
	}
	f.Grant = n
	f.Hint.Warning = name + " " + show.Line(reason) + ", and the owner of the name " + c.Name(host) + " decides which address it leads to"
	f.Fix = "a name alone does not grant this address: to allow it, name the address in a rule"
	return f
}

func analyzeSchemeDenial(c *facts.Case, d policy.Denial, host string, port int, cause string) facts.Finding {
	scheme := "tcp"
	switch {
	case strings.HasSuffix(d.Detail, " TLS"):
		scheme = "https"
	case strings.HasSuffix(d.Detail, "speaks HTTP"):
		scheme = "http"
	}
	f := checkRefused(c, attributeHost(report.Certain, host, port, scheme, cause))
	if f.Grant.Scheme == "tcp" {
		f.Hint.Warning = "mcp-jail does not inspect connections of a rule with scheme = \"tcp\""
	}
	return f
}

// analyzeRequestDenial analyzes a request that a rule about paths or methods refused. The
// detail is "METHOD /path: …".
func analyzeRequestDenial(c *facts.Case, d policy.Denial, host string, port int, cause string) facts.Finding {
	f := facts.Refused(report.Certain, d.Axis, words.Endpoint(host, port), "connect", cause, grants.Grant{})
	var near []string
	for _, r := range c.Profile.Net {
		if !r.Covers(host, port) {
			continue
		}
		where := r.Where
		for _, line := range r.TOMLFields() {
			if key, _, _ := strings.Cut(line, " ="); key == "path_prefix" || key == "methods" {
				where += ", " + line
			}
		}
		near = append(near, where)
	}
	return f.Unfixable("its rules are at " + strings.Join(near, "; at ") + ": widen one, or add one for this request")
}

func analyzeNetLimit(c *facts.Case, d policy.Denial, host string, port int, cause string) facts.Finding {
	f := facts.Finding{}.Unfixable("no rule raises this: name the hosts one by one instead of by a wildcard")
	if strings.Contains(d.Detail, "connections are open") {
		f = facts.Finding{}.Unfixable("no rule raises this: the server must close connections before it opens more")
	}
	f.Refused = true
	f.Hint = report.Hint{Attribution: report.Certain, Axis: d.Axis, Target: words.Endpoint(host, port), Missing: "limit", Cause: cause}
	return f
}
