package intercept

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// refusal is why a request goes no further.
type refusal struct {
	status int
	why    egress.Reason
	text   string
}

// forbidden is an answer of 403.
func forbidden(why egress.Reason, format string, args ...any) *refusal {
	return &refusal{http.StatusForbidden, why, fmt.Sprintf(format, args...)}
}

// decide says which rule allows a request, or why there is none.
func (l *jailConn) decide(r *http.Request) (policy.NetRule, *refusal) {
	for _, check := range []func(*http.Request) *refusal{l.checkHost, l.checkForm, l.checkOverrides} {
		if no := check(r); no != nil {
			return policy.NetRule{}, no
		}
	}
	path := r.URL.EscapedPath()
	rule, ok := policy.MatchNet(l.t.rules, l.target.Name, l.scheme(), l.target.Port, path, r.Method)
	switch {
	case ok:
		return rule, nil
	case !policy.CleanPath(path):
		return rule, forbidden(egress.ReasonAmbiguous, "servers read its path in different ways (dot segments or what some take for them, empty segments, escaped separators, control characters, broken UTF-8), so no path_prefix can be said to hold")
	case rule.Host != "":
		return rule, forbidden(egress.ReasonRequest, "the rule at %s denies it (%s)", rule.Where, ruleText(rule))
	}
	return rule, forbidden(egress.ReasonRequest, "%s", l.allowedText())
}

// checkHost: the host of the request is that of the connection (RFC 9110, 15.5.20).
func (l *jailConn) checkHost(r *http.Request) *refusal {
	host, port := r.Host, ""
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	normal, err := policy.NormalizeTarget(host)
	if err != nil || normal != l.target.Name || port != "" && port != strconv.Itoa(l.target.Port) {
		return &refusal{http.StatusMisdirectedRequest, egress.ReasonWrongName, "its host is " + strconv.Quote(quote(r.Host)) + ", on a connection to " + l.target.Name}
	}
	return nil
}

// checkForm refuses what two readers could take for different requests.
func (l *jailConn) checkForm(r *http.Request) *refusal {
	if w, one := r.Context().Value(recorderKey{}).(*headerRecorder); one {
		if why := ambiguity(w.takeHeader(r), r.Method+" "+r.RequestURI+" "+r.Proto); why != "" {
			return forbidden(egress.ReasonAmbiguous, "%s", why)
		}
	}
	upgrade := r.Header.Values("Upgrade")
	switch {
	case r.Method == http.MethodConnect:
		return forbidden(egress.ReasonRequest, "CONNECT asks for a tunnel, in which nothing could be seen")
	case !strings.HasPrefix(r.RequestURI, "/") && !(r.RequestURI == "*" && r.Method == http.MethodOptions && !l.conditional):
		return forbidden(egress.ReasonAmbiguous, "its target is not a path")
	case len(upgrade) > 1 || len(upgrade) == 1 && !strings.EqualFold(upgrade[0], "websocket"):
		return forbidden(egress.ReasonRequest, "after an upgrade to %q nothing could be seen; the only one is to websocket", quote(strings.Join(upgrade, ", ")))
	}
	return nil
}

// checkOverrides refuses ways around a rule about paths or methods, and TRACE, whose
// answer is the request with its secrets.
func (l *jailConn) checkOverrides(r *http.Request) *refusal {
	if r.Method == http.MethodTrace {
		return forbidden(egress.ReasonRequest, "TRACE asks for the request back, with what was put into it")
	}
	if !l.conditional {
		return nil
	}
	if r.Method != strings.ToUpper(r.Method) {
		return forbidden(egress.ReasonAmbiguous, "its method is not written in capitals, which servers read in different ways")
	}
	for _, fields := range []http.Header{r.Header, r.Trailer} { // some servers make one of the two
		for name := range fields {
			if isOverrideHeader(name) {
				return forbidden(egress.ReasonAmbiguous, "its header field %s names another path or method to some servers", quote(name))
			}
		}
	}
	return l.checkDestination(r)
}

// hasConditions reports whether the rules tell requests of a connection apart.
func hasConditions(rules []policy.NetRule, scheme string, t egress.Target) bool {
	for _, r := range rulesFor(rules, scheme, t) {
		if r.PathPrefix != "" || len(r.Methods) > 0 {
			return true
		}
	}
	return false
}

// rulesFor lists the rules that are about a connection, whatever is asked for on it.
func rulesFor(rules []policy.NetRule, scheme string, t egress.Target) (out []policy.NetRule) {
	for _, r := range rules {
		bare := policy.NetRule{Host: r.Host, Scheme: r.Scheme, Port: r.Port, Allow: r.Allow}
		if about, _ := policy.MatchNet([]policy.NetRule{bare}, t.Name, scheme, t.Port, "", ""); about.Host != "" {
			out = append(out, r)
		}
	}
	return out
}

// allowedText says what is allowed instead.
func (l *jailConn) allowedText() string {
	var list []string
	for _, r := range rulesFor(l.t.rules, l.scheme(), l.target) {
		if r.Allow {
			list = append(list, fmt.Sprintf("%s (%s)", r.Where, ruleText(r)))
		}
	}
	if list == nil {
		return "no rule allows this host"
	}
	return "no rule allows it; this host has " + strings.Join(list, "; ")
}

// ruleText are the lines of a rule in one line.
func ruleText(r policy.NetRule) string {
	var out []string
	for _, line := range r.TOML("access")[1:] {
		if line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, ", ")
}
