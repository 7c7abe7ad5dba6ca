package diagnostics

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzeNetDenial analyzes a denial of the jail's network.
func (a *analyzer) analyzeNetDenial(d policy.Denial, cause string) finding {
	f := a.causeOfNetDenial(d, cause)
	f.hint.Explain = PageOfReason(d.Reason)
	return f
}

func (a *analyzer) causeOfNetDenial(d policy.Denial, cause string) finding {
	if isNamelessLookup(d) {
		// A jail without a network has no resolver that could see the name.
		f := a.attribute(Certain, d.Axis, "", d.Operation, "the jail refused "+lookupPhrase+programAndCount(d), grant{})
		f.fix = "grant the host that the server needs (see its documentation or its error)"
		if flags, ok := a.writer.flags([]grant{{host: "HOST"}}); ok && len(flags) > 0 {
			f.fix += ", with " + strings.Join(flags, " ")
		}
		return f
	}
	host, port, scheme, ok := said.SplitEndpoint(d.Target)
	if !ok {
		f := a.attribute(Certain, d.Axis, d.Target, d.Operation, cause, grant{})
		f.fix = "no policy line grants this"
		return f
	}
	host = loopbackName(host)
	if d.Detail != "" && d.Reason != "" && d.Reason != policy.DeniedNotGranted {
		cause += ": " + show.Cut(show.Line(a.ev.Redactor.Redact(d.Detail)), maxCause/2)
	}
	refusal := func(fix string) finding {
		f := a.attribute(Certain, d.Axis, endpoint(host, port), "connect", cause, grant{})
		f.fix = fix
		return f
	}
	switch d.Reason {
	case policy.DeniedAddress:
		return a.analyzeAddressDenial(d, host, port, cause)
	case policy.DeniedWrongName:
		return refusal("a connection has to name the granted host in TLS and in HTTP; another host that it names needs its own rule")
	case policy.DeniedWrongScheme:
		return a.analyzeSchemeDenial(d, host, port, cause)
	case policy.DeniedAmbiguous:
		return refusal("no policy line grants this: two readers could understand the request differently")
	case policy.DeniedRequest:
		return a.analyzeRequestDenial(d, host, port, cause)
	case policy.DeniedSecret:
		return refusal("a secret is inserted only into header fields for credentials: to allow another field, write its name beside env as header = \"NAME\"")
	case policy.DeniedLeak:
		return refusal("have the server send the request without it; leaks = \"warn\" lets such requests pass, with a warning")
	case policy.DeniedLimit:
		return a.analyzeNetLimit(d, host, port, cause)
	case policy.DeniedUnsupported:
		return refusal(a.planCommand() + " shows what is missing for it")
	}
	if d.Operation == "send" {
		return refusal("no policy line grants UDP: reach a granted host by TCP (QUIC falls back to it)")
	}
	return a.checkPrecedence(a.attributeHost(Certain, host, port, scheme, cause))
}

// checkPrecedence removes the grant where another rule would still decide: docs/policy.md
// "Network rules".
func (a *analyzer) checkPrecedence(f finding) finding {
	n := f.grant
	if n.host == "" {
		return f
	}
	method, _, _ := strings.Cut(n.methods, " ")
	decide := func(rules []policy.NetRule) (decider policy.NetRule, any bool) {
		for _, port := range n.netRule().Ports() {
			scheme := n.scheme
			if scheme == "" {
				scheme = map[int]string{80: "http", 443: "https"}[port]
			}
			r, ok := policy.MatchNet(rules, n.host, scheme, port, n.prefix, method)
			if decider.Host == "" || ok {
				decider = r
			}
			any = any || ok
		}
		return decider, any
	}
	now, _ := decide(a.profile.Net)
	switch _, ok := decide(append(slices.Clone(a.profile.Net), n.netRule())); {
	case !ok:
		f.grant = grant{}
		f.fix = "the rule at " + now.Where + " refuses it and is more specific than a rule for the host: change that rule"
	case now.Host != "" && !now.Allow:
		f.fix = strings.TrimPrefix(f.fix+"; the rule at "+now.Where+" refuses it: the new rule must come after it", "; ")
	}
	return f
}

// analyzeAddressDenial analyzes a granted name that resolves to an address to which no
// name may lead. The detail is "ADDRESS is …", or several of them with commas.
func (a *analyzer) analyzeAddressDenial(d policy.Denial, host string, port int, cause string) finding {
	f := a.attribute(Certain, d.Axis, endpoint(host, port), "connect", cause, grant{})
	first, _, _ := strings.Cut(d.Detail, ", ")
	name, reason, _ := strings.Cut(first, " ")
	addr, err := netip.ParseAddr(name)
	if err != nil || strings.Contains(reason, "refused by a rule") {
		f.fix = "a rule of the policy refuses the address: change that rule"
		return f
	}
	n := grant{host: loopbackName(name)}
	for _, r := range a.profile.Net {
		if r.Allow && r.Covers(host, port) {
			n.scheme, n.port = r.Scheme, r.Port
		}
	}
	rule := n.netRule()
	if _, ok := policy.CheckAddress(append(slices.Clone(a.profile.Net), rule), addr, rule.Ports()[0], false); !ok {
		f.fix = "a name does not grant this address, and no rule can grant it"
		return f
	}
	f.grant = n
	f.hint.Warning = name + " " + show.Line(reason) + ", and the owner of the name " + a.quote(host) + " decides which address it leads to"
	f.fix = "a name alone does not grant this address: to allow it, name the address in a rule"
	return f
}

// analyzeSchemeDenial analyzes a connection that uses another protocol than its rule
// allows.
func (a *analyzer) analyzeSchemeDenial(d policy.Denial, host string, port int, cause string) finding {
	scheme := "tcp"
	switch {
	case strings.HasSuffix(d.Detail, " TLS"):
		scheme = "https"
	case strings.HasSuffix(d.Detail, "speaks HTTP"):
		scheme = "http"
	}
	f := a.checkPrecedence(a.attributeHost(Certain, host, port, scheme, cause))
	if f.grant.scheme == "tcp" {
		f.hint.Warning = "mcp-jail does not inspect connections of a rule with scheme = \"tcp\""
	}
	return f
}

// analyzeRequestDenial analyzes a request that a rule about paths or methods refused. The
// detail is "METHOD /path: …".
func (a *analyzer) analyzeRequestDenial(d policy.Denial, host string, port int, cause string) finding {
	f := a.attribute(Certain, d.Axis, endpoint(host, port), "connect", cause, grant{})
	request, _, _ := strings.Cut(d.Detail, ": ")
	method, path, _ := strings.Cut(request, " ")
	var near []string
	n := grant{host: host, scheme: map[int]string{80: "http", 443: "https"}[port], prefix: path, methods: method}
	for _, r := range a.profile.Net {
		if !r.Covers(host, port) {
			continue
		}
		where := r.Where
		for _, line := range r.TOML("")[1:] {
			if key, _, _ := strings.Cut(line, " ="); key == "path_prefix" || key == "methods" {
				where += ", " + line
			}
		}
		near = append(near, where)
		if r.Port != 0 { // the new rule has to be as specific as this one
			n.port = r.Port
		}
		if r.Allow {
			n.scheme, n.secret = cmp.Or(n.scheme, r.Scheme), ""
			for _, line := range r.TOML("") {
				if strings.HasPrefix(line, "secret = ") {
					n.secret = line
				}
			}
		}
	}
	f.fix = "its rules are at " + strings.Join(near, "; at ") + ": widen one, or add one for this request"
	if !policy.CleanPath(path) || !strings.HasPrefix(path, "/") || len(path) > maxTarget || strings.ContainsAny(path, "?#") ||
		method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" || method == "CONNECT" || method == "TRACE" || near == nil {
		f.fix = "no policy line grants this"
		return f
	}
	f.grant = n
	return a.checkPrecedence(f)
}

// analyzeNetLimit analyzes a limit of the network that was reached.
func (a *analyzer) analyzeNetLimit(d policy.Denial, host string, port int, cause string) finding {
	f := finding{fix: "no policy line raises this: name the hosts one by one instead of by a wildcard"}
	for _, key := range []string{keyConnections, keyNetOut} {
		if strings.Contains(d.Detail, key) {
			f = a.raiseLimit(key)
		}
	}
	f.refused = true
	f.hint = Hint{Attribution: Certain, Axis: d.Axis, Target: endpoint(host, port), Missing: "limit", Cause: cause}
	return f
}
