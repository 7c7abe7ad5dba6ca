package intercept

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

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
