package front

import (
	"errors"
	"strconv"
	"strings"
)

// errNotProxied rejects a request that asks a proxy for no host.
var errNotProxied = errors.New("a request that names no host: this is a proxy, and no web server")

// ProxyRequest is a request to an HTTP proxy (RFC 9112, 3.2.2 and 3.2.3).
type ProxyRequest struct {
	Request
	Connect bool   // asks for a tunnel
	TLS     bool   // asks the proxy itself to speak TLS: the target is an https URL
	Host    string // of the target, as it is written, without the brackets of an IPv6 address
	Port    int
	// Authorization is the value of Proxy-Authorization. There may be only one.
	Authorization string

	method, path, version string
	hostField             string
	hasHost               bool
	fields                []string        // lines that are sent on
	dropped               map[string]bool // fields that Connection names
}

// parseProxyHead is [ParseHead] for a request to a proxy. With an error, r has what can be read all the
// same, so that a caller can tell who asks for what.
func parseProxyHead(b []byte) (r ProxyRequest, n int, err error) {
	line, rest, more, err := CutLine(b)
	if more || err != nil {
		return r, 0, err
	}
	wrong := r.parseProxyLine(string(line))
	r.dropped = map[string]bool{}
	seen := map[string]bool{}
	for {
		if line, rest, more, err = CutLine(rest); more || err != nil {
			return r, 0, err
		}
		if len(line) == 0 {
			break
		}
		if err := r.parseProxyField(string(line), seen); wrong == nil {
			wrong = err
		}
	}
	switch {
	case wrong != nil:
		return r, 0, wrong
	case r.Chunked && (seen["content-length"] || r.version != "HTTP/1.1"):
		return r, 0, ErrNotStrict
	case r.Connect && (r.Chunked || r.Length > 0): // its bytes would be the first ones of the tunnel
		return r, 0, ErrNotStrict
	}
	for _, name := range []string{"host", "content-length", "transfer-encoding"} {
		if r.dropped[name] { // without it, the host would read another request
			return r, 0, ErrNotStrict
		}
	}
	return r, len(b) - len(rest), nil
}

func (r *ProxyRequest) parseProxyLine(line string) error {
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	if !IsToken(method) || version != "HTTP/1.1" && version != "HTTP/1.0" || target == "" || strings.ContainsAny(target, "\t#") {
		return ErrNotStrict
	}
	r.method, r.version = method, version
	if method == "CONNECT" {
		r.Connect = true
		return r.parseTarget(target, 0)
	}
	const insecure, secure = "http://", "https://"
	port := 80
	switch {
	case len(target) > len(insecure) && strings.EqualFold(target[:len(insecure)], insecure):
		target = target[len(insecure):]
	case len(target) > len(secure) && strings.EqualFold(target[:len(secure)], secure):
		target, port, r.TLS = target[len(secure):], 443, true
	default:
		return errNotProxied
	}
	r.path = "/"
	if i := strings.IndexAny(target, "/?"); i >= 0 {
		target, r.path = target[:i], target[i:]
	} else if method == "OPTIONS" { // RFC 9112, 3.2.4
		r.path = "*"
	}
	if r.path[0] == '?' {
		r.path = "/" + r.path
	}
	return r.parseTarget(target, port)
}

// parseTarget parses an authority. port is the one that it may leave out; 0 means none.
func (r *ProxyRequest) parseTarget(authority string, port int) error {
	host, ok := cutPort(authority)
	if !ok || host == "" {
		return ErrNotStrict
	}
	if written, ok := strings.CutPrefix(authority[len(host):], ":"); ok {
		n, err := strconv.ParseUint(written, 10, 16)
		if err != nil || len(written) > 5 {
			return ErrNotStrict
		}
		port = int(n)
	}
	if port == 0 {
		return ErrNotStrict
	}
	bare, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		if bare, bracketed = strings.CutSuffix(bare, "]"); !bracketed || !strings.Contains(bare, ":") {
			return ErrNotStrict
		}
	}
	if !bracketed && strings.Contains(bare, ":") || strings.ContainsAny(bare, "[]") { // two readers could find different ports
		return ErrNotStrict
	}
	r.Hosts = []string{host}
	r.Host, r.Port = bare, port
	return nil
}

func (r *ProxyRequest) parseProxyField(line string, seen map[string]bool) error {
	hosts := len(r.Hosts)
	if err := r.parseField(line, seen); err != nil {
		return err
	}
	name, value, _ := strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	switch name = strings.ToLower(name); {
	case len(r.Hosts) > hosts:
		r.hasHost, r.hostField = true, value
	case name == "proxy-authorization":
		if seen[name] {
			return ErrNotStrict
		}
		seen[name] = true
		r.Authorization = value
	case name == "connection" || name == "proxy-connection":
		for named := range strings.SplitSeq(value, ",") {
			r.dropped[strings.ToLower(strings.Trim(named, " \t"))] = true
		}
	case ofMessage[name] && name != "content-length" && name != "transfer-encoding":
	case strings.HasPrefix(CanonicalField(name)+"-", "proxy-"):
	default:
		r.fields = append(r.fields, line)
	}
	return nil
}

// Head returns the head of the request for the host itself: in origin form, without the fields that
// are for the proxy or one connection, as the last request of its connection. It names the target's
// host, or the one of its Host field if keepHost is set.
func (r *ProxyRequest) Head(keepHost bool) []byte {
	host := r.Hosts[0]
	if standard := map[bool]int{false: 80, true: 443}[r.TLS]; r.Port != standard {
		host += ":" + strconv.Itoa(r.Port)
	}
	if keepHost && r.hasHost {
		host = r.hostField
	}
	var b strings.Builder
	b.WriteString(r.method + " " + r.path + " " + r.version + "\r\nHost: " + host + "\r\n")
	for _, line := range r.fields {
		name, _, _ := strings.Cut(line, ":")
		if !r.dropped[strings.ToLower(name)] {
			b.WriteString(line + "\r\n")
		}
	}
	b.WriteString("Connection: close\r\n\r\n")
	return []byte(b.String())
}
