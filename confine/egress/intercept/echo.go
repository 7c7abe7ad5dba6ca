package intercept

import (
	"bufio"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/leak"
	"github.com/mcp-jail/mcp-jail/policy"
)

// maskOf returns a mask of the secrets that a rule puts into requests to the host of a connection, or
// nil if there are none. It is the same for all requests: a host may keep a value and send it back
// later.
func (i *Interceptor) maskOf(c *jailConn) *leak.Mask {
	var values []string
	for _, r := range i.rules {
		any := policy.NetRule{Host: r.Host, Scheme: c.scheme(), Port: c.target.Port, Allow: true}
		if _, ok := policy.MatchNet([]policy.NetRule{any}, c.target.Name, c.scheme(), c.target.Port, "", ""); ok {
			for _, name := range r.SecretNames() {
				values = append(values, i.secrets[name])
			}
		}
	}
	return leak.NewMask(values)
}

// askReadable changes a request so that its response can be read: whole, and not compressed but by
// gzip.
func askReadable(h http.Header) {
	for _, name := range []string{"Range", "If-Range", "Sec-Websocket-Extensions", "Grpc-Accept-Encoding", "Connect-Accept-Encoding"} {
		h.Del(name)
	}
	if values, ok := h["Accept-Encoding"]; ok {
		h.Set("Accept-Encoding", acceptable(strings.Join(values, ",")))
	}
}

// acceptable returns gzip if an Accept-Encoding allows it, otherwise identity.
func acceptable(accepted string) string {
	for part := range strings.SplitSeq(accepted, ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if isGzip(coding) && strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || isGzip(coding) && weight == "" {
			return "gzip"
		}
	}
	return "identity"
}

func isGzip(coding string) bool {
	return strings.EqualFold(coding, "gzip") || strings.EqualFold(coding, "x-gzip")
}

// unreadable is the error of a response that is refused.
type unreadable struct{ refusal *refusal }

func (u unreadable) Error() string { return u.refusal.text }

// makeReadable decompresses a response, or returns an error.
func makeReadable(r *http.Response) error {
	for _, name := range []string{"Content-Encoding", "Grpc-Encoding", "Connect-Content-Encoding"} {
		coding := strings.TrimSpace(strings.Join(r.Header.Values(name), ","))
		switch {
		case coding == "" || strings.EqualFold(coding, "identity"):
		case name == "Content-Encoding" && isGzip(coding):
			if r.Request.Method == http.MethodHead || r.ContentLength == 0 {
				break
			}
			r.Header.Del("Content-Encoding")
			r.Header.Del("Content-Length")
			r.ContentLength = -1
			r.Body = &gunzipped{ReadCloser: r.Body}
		default:
			return unreadable{&refusal{http.StatusBadGateway, "", "its response has " + name + ": " + quote(coding) + ", although only gzip was asked for: so it cannot be searched for a secret of this host"}}
		}
	}
	return nil
}

// gunzipped is a body without its compression.
type gunzipped struct {
	io.ReadCloser
	plain *gzip.Reader
}

func (g *gunzipped) Read(p []byte) (n int, err error) {
	if g.plain == nil { // the response may begin long before its body
		if g.plain, err = gzip.NewReader(g.ReadCloser); err != nil {
			return 0, err
		}
	}
	return g.plain.Read(p)
}

// hide hides secrets in header or trailer fields.
func hide(mask *leak.Mask, fields http.Header) {
	if mask == nil {
		return
	}
	for name, values := range fields {
		if mask.Hide(name) != name {
			delete(fields, name)
			continue
		}
		for i, v := range values {
			values[i] = mask.Hide(v)
		}
	}
}

// isLive reports whether the receiver of a response acts on messages that end with no line.
func isLive(h http.Header) bool {
	return slices.ContainsFunc(h.Values("Content-Type"), func(v string) bool {
		return strings.HasPrefix(v, "application/grpc") || strings.HasPrefix(v, "application/connect+")
	})
}

// maskedConn is the jail's side of a WebSocket.
type maskedConn struct {
	net.Conn
	stream *leak.MaskStream
}

// newMaskedConn takes over a connection whose response has not been written.
func newMaskedConn(conn net.Conn, rest *bufio.ReadWriter, mask *leak.Mask) (net.Conn, *bufio.ReadWriter) {
	masked := &maskedConn{conn, mask.Stream(true)}
	return masked, bufio.NewReadWriter(rest.Reader, bufio.NewWriter(masked))
}

func (m *maskedConn) Write(p []byte) (int, error) {
	out, err := m.stream.Next(nil, p)
	if err != nil {
		m.Close()
		return 0, err
	}
	if _, err := m.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite ends the direction to the jail.
func (m *maskedConn) CloseWrite() error {
	return m.Conn.(interface{ CloseWrite() error }).CloseWrite()
}
