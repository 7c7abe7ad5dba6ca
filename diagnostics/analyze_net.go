package diagnostics

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Denial.Reason of the network, as egress.Reason.Code has it. "" is notGranted: a jail
// without a network refuses everything for that one reason.
const (
	reasonNotGranted  = "not_granted"
	reasonAddress     = "address"
	reasonWrongName   = "wrong_name"
	reasonWrongScheme = "wrong_scheme"
	reasonAmbiguous   = "ambiguous"
	reasonRequest     = "request"
	reasonLimit       = "limit"
	reasonSecret      = "secret"
	reasonUnsupported = "unsupported"
)

// analyzeNetDenial judges what the jail's network refused.
func (j *analyzer) analyzeNetDenial(d Denial, cause string) finding {
	if d.isNamelessLookup() {
		// Which name, the jail has not seen: nobody was there to be asked.
		v := j.attribute(Certain, d.Axis, "", d.Operation, "the jail refused "+lookupPhrase+d.programAndCount(), grant{})
		v.fix = "grant the host that the server needs, which its documentation or its error names"
		if flags, ok := j.writer.flags([]grant{{host: "HOST"}}); ok && len(flags) > 0 {
			v.fix += ", with " + strings.Join(flags, " ")
		}
		return v
	}
	host, port, scheme, ok := splitEndpoint(d.Target)
	if !ok {
		v := j.attribute(Certain, d.Axis, d.Target, d.Operation, cause, grant{})
		v.fix = "no line of a policy grants this"
		return v
	}
	host = loopbackName(host)
	if d.Detail != "" && d.Reason != "" && d.Reason != reasonNotGranted {
		cause += ": " + cut(sanitize(j.ev.Redactor.Redact(d.Detail)), maxCause/2)
	}
	refusal := func(fix string) finding {
		v := j.attribute(Certain, d.Axis, endpoint(host, port), "connect", cause, grant{})
		v.fix = fix
		return v
	}
	switch d.Reason {
	case reasonAddress:
		return j.analyzeAddressDenial(d, host, port, cause)
	case reasonWrongName:
		return refusal("a connection has to name the granted host, in TLS and in HTTP; the host that it names needs a rule of its own")
	case reasonWrongScheme:
		return j.analyzeSchemeDenial(d, host, port, cause)
	case reasonAmbiguous:
		return refusal("no line of a policy grants this: two readers of it could understand different things")
	case reasonRequest:
		return j.analyzeRequestDenial(d, host, port, cause)
	case reasonSecret:
		return refusal("a secret is put in the header fields for credentials only: if it belongs into that one, write the field's name beside env, as header = \"NAME\"")
	case reasonLimit:
		return j.analyzeNetLimit(d, host, port, cause)
	case reasonUnsupported:
		return refusal(j.planCommand() + " says what is missing for it")
	}
	if d.Operation == "send" {
		return refusal("no line of a policy grants UDP: a granted host is reached by TCP, to which QUIC falls back")
	}
	return j.checkPrecedence(j.attributeHost(Certain, host, port, scheme, cause))
}

// checkPrecedence takes the line back that another rule would keep from deciding: docs/policy.md
// "Network rules".
func (j *analyzer) checkPrecedence(v finding) finding {
	n := v.grant
	if n.host == "" {
		return v
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
	now, _ := decide(j.profile.Net)
	switch _, ok := decide(append(slices.Clone(j.profile.Net), n.netRule())); {
	case !ok:
		v.grant = grant{}
		v.fix = "the rule at " + now.Where + " refuses it, and says more than a rule for the host would: change that one"
	case now.Host != "" && !now.Allow:
		v.fix = strings.TrimPrefix(v.fix+"; the rule at "+now.Where+" refuses it: this one has to stand behind it", "; ")
	}
	return v
}

// analyzeAddressDenial judges that a granted name leads to an address which no name may lead
// to. The detail is "ADDRESS is …", or several of them with commas.
func (j *analyzer) analyzeAddressDenial(d Denial, host string, port int, cause string) finding {
	v := j.attribute(Certain, d.Axis, endpoint(host, port), "connect", cause, grant{})
	first, _, _ := strings.Cut(d.Detail, ", ")
	name, reason, _ := strings.Cut(first, " ")
	addr, err := netip.ParseAddr(name)
	if err != nil || strings.Contains(reason, "refused by a rule") {
		v.fix = "a rule of the policy refuses the address: change that one"
		return v
	}
	n := grant{host: loopbackName(name)}
	for _, r := range j.profile.Net {
		if r.Allow && r.Covers(host, port) {
			n.scheme, n.port = r.Scheme, r.Port
		}
	}
	rule := n.netRule()
	if _, ok := policy.CheckAddress(append(slices.Clone(j.profile.Net), rule), addr, rule.Ports()[0], nil); !ok {
		v.fix = "a name does not grant this address, and no rule can name it"
		return v
	}
	v.grant = n
	v.hint.Warning = name + " " + sanitize(reason) + ", and whoever has the name " + j.quote(host) + " decides that it leads there"
	v.fix = "a name alone does not grant this address: if it is meant, name it"
	return v
}

// analyzeSchemeDenial judges a connection that speaks another protocol than the rule is for.
func (j *analyzer) analyzeSchemeDenial(d Denial, host string, port int, cause string) finding {
	scheme := "tcp"
	switch {
	case strings.HasSuffix(d.Detail, " TLS"):
		scheme = "https"
	case strings.HasSuffix(d.Detail, "speaks HTTP"):
		scheme = "http"
	}
	v := j.checkPrecedence(j.attributeHost(Certain, host, port, scheme, cause))
	if v.grant.scheme == "tcp" {
		v.hint.Warning = "of what goes to a rule with scheme = \"tcp\" nothing is looked at"
	}
	return v
}

// analyzeRequestDenial judges a request that a rule about paths or methods refused. The
// detail is "METHOD /path: …".
func (j *analyzer) analyzeRequestDenial(d Denial, host string, port int, cause string) finding {
	v := j.attribute(Certain, d.Axis, endpoint(host, port), "connect", cause, grant{})
	request, _, _ := strings.Cut(d.Detail, ": ")
	method, path, _ := strings.Cut(request, " ")
	var near []string
	n := grant{host: host, scheme: map[int]string{80: "http", 443: "https"}[port], prefix: path, methods: method}
	for _, r := range j.profile.Net {
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
		if r.Port != 0 { // the new rule has to say as much as that one
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
	v.fix = "its rules are at " + strings.Join(near, "; at ") + ": widen one, or add one for this request"
	if !policy.CleanPath(path) || !strings.HasPrefix(path, "/") || len(path) > maxTarget || strings.ContainsAny(path, "?#") ||
		method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" || method == "CONNECT" || method == "TRACE" || near == nil {
		v.fix = "no line of a policy grants this"
		return v
	}
	v.grant = n
	return j.checkPrecedence(v)
}

// analyzeNetLimit judges a limit of the network.
func (j *analyzer) analyzeNetLimit(d Denial, host string, port int, cause string) finding {
	v := finding{fix: "no line of a policy raises this: name the hosts one by one instead of by a wildcard"}
	for _, key := range []string{keyConnections, keyNetOut} {
		if strings.Contains(d.Detail, key) {
			v = j.raiseLimit(key)
		}
	}
	v.refused = true
	v.hint = Hint{Attribution: Certain, Axis: d.Axis, Target: endpoint(host, port), Missing: "limit", Cause: cause}
	return v
}
