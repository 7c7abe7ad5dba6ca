package intercept

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
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

func askReadable(h http.Header) {
	for name := range h {
		if asksForPart(name) {
			delete(h, name)
		}
	}
	for _, name := range []string{"Sec-Websocket-Extensions", "Grpc-Accept-Encoding", "Connect-Accept-Encoding"} {
		h.Del(name)
	}
	if values, ok := h["Accept-Encoding"]; ok {
		h.Set("Accept-Encoding", acceptable(strings.Join(values, ",")))
	}
}

// asksForPart reports whether some host sends a part of its response because of a request's field:
// Range, Request-Range (Apache), X-Ms-Range (Azure). Other fields with such names are about the body
// of the request (Content-Range), or about what the host is to copy (X-Amz-Copy-Source-Range).
func asksForPart(field string) bool {
	name := "-" + strings.ReplaceAll(strings.ToLower(field), "_", "-") // CGI reads both alike
	return strings.HasSuffix(name, "-range") && !strings.HasSuffix(name, "-content-range") && !strings.HasSuffix(name, "-source-range")
}

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

func makeReadable(r *http.Response) error {
	for _, charset := range charsets(r.Header.Values("Content-Type")) {
		if !extendsASCII(charset) {
			return unreadable{&refusal{http.StatusBadGateway, "", "its response has the charset " + quote(charset) + ", in which a secret of this host is not searched for: ask for UTF-8"}}
		}
	}
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
	if r.StatusCode != http.StatusSwitchingProtocols {
		r.Body = &unmarked{ReadCloser: r.Body}
	}
	return nil
}

func charsets(kinds []string) (names []string) {
	for part := range strings.FieldsFuncSeq(strings.Join(kinds, ";"), func(r rune) bool { return r == ';' || r == ',' }) {
		key, value, _ := strings.Cut(part, "=")
		if key, _, _ = strings.Cut(strings.TrimSpace(key), "*"); strings.EqualFold(key, "charset") {
			names = append(names, strings.Trim(value, " \t\"'"))
		}
	}
	return names
}

// extendsASCII reports whether a text of ASCII has the same bytes in a charset. None that is unknown
// has.
func extendsASCII(charset string) bool {
	name := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(charset))
	for _, prefix := range [...]string{"utf8", "usascii", "iso8859", "latin", "windows12", "cp12", "koi8", "gb", "big5", "shiftjis", "sjis", "windows31j", "euc"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "" || name == "ascii" || name == "binary"
}

// unmarked is a body that ends with an error if it begins with the byte order mark of UTF-16 or
// UTF-32. It waits for no byte.
type unmarked struct {
	io.ReadCloser
	head []byte // the first bytes, until they are known to be no mark
	done bool
}

func (u *unmarked) Read(p []byte) (n int, err error) {
	n, err = u.ReadCloser.Read(p)
	if u.done {
		return n, err
	}
	u.head = append(u.head, p[:min(n, 4)]...)
	u.done = len(u.head) >= 4
	for _, mark := range [...]string{"\xff\xfe", "\xfe\xff", "\x00\x00\xfe\xff"} {
		if strings.HasPrefix(string(u.head), mark) {
			return 0, errWide
		}
	}
	return n, err
}

// errWide ends a response after its header, which no refusal can.
var errWide = errors.New("the response is in UTF-16 or UTF-32, in which a secret of this host is not searched for")

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
