package intercept

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// refusal is the reason why a request is not forwarded.
type refusal struct {
	status int
	why    policy.DenialReason
	text   string
}

func forbidden(why policy.DenialReason, format string, args ...any) *refusal {
	return &refusal{http.StatusForbidden, why, fmt.Sprintf(format, args...)}
}

func (c *jailConn) decide(r *http.Request) (policy.NetRule, *refusal) {
	for _, check := range []func(*http.Request) *refusal{c.checkHost, checkFields, c.checkForm, c.checkOverrides} {
		if no := check(r); no != nil {
			return policy.NetRule{}, no
		}
	}
	path := r.URL.EscapedPath()
	rule, ok := policy.MatchNet(c.t.rules, c.target.Name, c.scheme(), c.target.Port, path, r.Method)
	switch {
	case ok:
		return rule, nil
	case !policy.CleanPath(path):
		return rule, forbidden(policy.DeniedAmbiguous, "servers read its path in different ways (dot segments or what some take for them, empty segments, escaped separators, control characters, broken UTF-8), so no path_prefix can be said to hold")
	case rule.Host != "":
		return rule, forbidden(policy.DeniedRequest, "the rule at %s denies it (%s)", rule.Where, ruleText(rule))
	}
	return rule, forbidden(policy.DeniedRequest, "%s", c.allowedText())
}

func (c *jailConn) checkHost(r *http.Request) *refusal {
	host, port := r.Host, ""
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	normal, err := policy.NormalizeTarget(host)
	if err != nil || normal != c.target.Name || port != "" && port != strconv.Itoa(c.target.Port) {
		return &refusal{http.StatusMisdirectedRequest, policy.DeniedWrongName, "its host is " + strconv.Quote(quote(r.Host)) + ", on a connection to " + c.target.Name}
	}
	return nil
}

func checkFields(r *http.Request) *refusal {
	for _, part := range []struct {
		fields http.Header
		in     egress.Section
	}{{r.Header, egress.InHeader}, {r.Trailer, egress.InTrailer}} {
		for _, name := range slices.Sorted(maps.Keys(part.fields)) {
			if why := egress.CheckField(name, part.in); why != "" {
				return forbidden(policy.DeniedAmbiguous, "%s", why)
			}
		}
	}
	return nil
}

func (c *jailConn) checkForm(r *http.Request) *refusal {
	upgrade := r.Header.Values("Upgrade")
	switch {
	case r.Method == http.MethodConnect:
		return forbidden(policy.DeniedRequest, "CONNECT opens a tunnel, whose requests could not be checked")
	case !strings.HasPrefix(r.RequestURI, "/") && !(r.RequestURI == "*" && r.Method == http.MethodOptions && !c.conditional):
		return forbidden(policy.DeniedAmbiguous, "its target is not a path")
	case len(upgrade) > 1 || len(upgrade) == 1 && !strings.EqualFold(upgrade[0], "websocket"):
		return forbidden(policy.DeniedRequest, "after an upgrade to %q, requests could not be checked; only websocket is allowed", quote(strings.Join(upgrade, ", ")))
	}
	return nil
}

// checkOverrides refuses ways around a rule about paths or methods. It also refuses TRACE,
// whose response contains the request and so the secrets.
func (c *jailConn) checkOverrides(r *http.Request) *refusal {
	if r.Method == http.MethodTrace {
		return forbidden(policy.DeniedRequest, "TRACE returns the request, including secrets")
	}
	if !c.conditional {
		return nil
	}
	if r.Method != strings.ToUpper(r.Method) {
		return forbidden(policy.DeniedAmbiguous, "its method is not in capitals, which servers read in different ways")
	}
	if r.Method == http.MethodPost && namesMethod(r.URL.RawQuery) {
		return forbidden(policy.DeniedAmbiguous, "its query has the parameter _method, which names another method to some servers")
	}
	for _, fields := range []http.Header{r.Header, r.Trailer} { // some servers treat trailer fields as header fields
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if isOverrideHeader(name) {
				return forbidden(policy.DeniedAmbiguous, "its header field %s names another path or method to some servers", quote(name))
			}
		}
	}
	return c.checkDestination(r)
}

func hasConditions(rules []policy.NetRule, scheme string, t egress.Target) bool {
	for _, r := range rulesFor(rules, scheme, t) {
		if r.PathPrefix != "" || len(r.Methods) > 0 {
			return true
		}
	}
	return false
}

func rulesFor(rules []policy.NetRule, scheme string, t egress.Target) (out []policy.NetRule) {
	for _, r := range rules {
		bare := policy.NetRule{Host: r.Host, Scheme: r.Scheme, Port: r.Port, Allow: r.Allow}
		if about, _ := policy.MatchNet([]policy.NetRule{bare}, t.Name, scheme, t.Port, "", ""); about.Host != "" {
			out = append(out, r)
		}
	}
	return out
}

func (c *jailConn) allowedText() string {
	var list []string
	for _, r := range rulesFor(c.t.rules, c.scheme(), c.target) {
		if r.Allow {
			list = append(list, fmt.Sprintf("%s (%s)", r.Where, ruleText(r)))
		}
	}
	if list == nil {
		return "no rule allows this host"
	}
	return "no rule allows it; this host has " + strings.Join(list, "; ")
}

func ruleText(r policy.NetRule) string { return strings.Join(r.TOMLFields(), ", ") }
