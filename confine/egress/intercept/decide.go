package intercept

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
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

// overrideHeaders are header fields that some servers take for the path or the method. The
// names are in the form of egress.CanonicalField.
var overrideHeaders = map[string]bool{
	"x-http-method-override": true, "x-http-method": true, "x-method-override": true, "x-method": true,
	"x-original-method": true, "x-forwarded-method": true, "x-envoy-original-method": true,
	"x-original-url": true, "x-rewrite-url": true, "x-override-url": true, "x-forwarded-url": true, "x-proxy-url": true,
	"x-original-uri": true, "x-rewrite-uri": true, "x-override-uri": true, "x-forwarded-uri": true, "x-request-uri": true, "request-uri": true,
	"x-original-path": true, "x-rewrite-path": true, "x-override-path": true, "x-forwarded-path": true, "x-envoy-original-path": true, "x-replaced-path": true,
	"x-forwarded-prefix": true, "x-script-name": true, "script-name": true, "path-info": true, "x-path-info": true,
	"x-copy-from": true, "x-ms-rename-source": true,
}

// isOverrideHeader reports whether some servers take a field for the path or the method. That
// includes the field that object stores use for the source of a copy.
func isOverrideHeader(name string) bool {
	name = egress.CanonicalField(name)
	return overrideHeaders[name] || strings.HasSuffix(name, "-copy-source")
}

// namesMethod reports whether a query has the parameter that some frameworks take for the method of a
// POST. PHP reads blanks and dots in a name as "_".
func namesMethod(query string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(query, func(c rune) bool { return c == '&' || c == ';' }), func(part string) bool {
		name, _, _ := strings.Cut(part, "=")
		if u, err := url.QueryUnescape(name); err == nil {
			name = u
		}
		return strings.EqualFold(strings.NewReplacer(" ", "_", ".", "_").Replace(strings.TrimSpace(name)), "_method")
	})
}

// checkDestination checks the resource in the Destination field (RFC 4918, 10.3) by the same rules
// as the target of the request.
func (c *jailConn) checkDestination(r *http.Request) *refusal {
	values := r.Header.Values("Destination")
	if len(values) == 0 {
		return nil
	}
	to, ok := c.destination(values[0])
	if len(values) > 1 || !ok {
		return forbidden(policy.DeniedAmbiguous, "servers read its Destination in different ways")
	}
	port, err := strconv.Atoi(to.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[to.Scheme]
	}
	path := to.EscapedPath()
	switch _, ok := policy.MatchNet(c.t.rules, to.Hostname(), to.Scheme, port, path, r.Method); {
	case ok:
		return nil
	case !policy.CleanPath(path):
		return forbidden(policy.DeniedAmbiguous, "servers read the path of its Destination in different ways")
	}
	return forbidden(policy.DeniedRequest, "its Destination, %s, is not allowed; %s", quote(to.String()), c.allowedText())
}

// destination parses a path of this host or an absolute URL and returns an absolute URL. It
// returns false for a value that could be read in two ways.
func (c *jailConn) destination(value string) (*url.URL, bool) {
	to, err := url.Parse(value)
	if err != nil || strings.ContainsAny(value, "?#\\") || to.User != nil || to.Opaque != "" {
		return nil, false
	}
	switch {
	case to.Scheme == "" && to.Host == "" && strings.HasPrefix(value, "/"):
		to.Scheme, to.Host = c.scheme(), net.JoinHostPort(c.target.Name, strconv.Itoa(c.target.Port))
	case to.Scheme != "http" && to.Scheme != "https", to.Host == "":
		return nil, false
	}
	if to.Path == "" {
		to.Path = "/"
	}
	return to, true
}
