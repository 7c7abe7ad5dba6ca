package intercept

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"sync"
)

// headerRecorder is the connection that an HTTP/1 server reads from. It records the bytes of
// the next header, because net/http resolves ambiguities in it silently.
type headerRecorder struct {
	net.Conn // the jailConn, or the TLS connection on top of it
	jail     *jailConn

	mu   sync.Mutex
	raw  []byte // from the beginning of a header
	skip int64  // bytes of a body before the header
	lost bool   // the beginning of the next header is unknown
}

func (w *headerRecorder) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	b := p[:n]
	if w.skip > 0 {
		over := min(w.skip, int64(len(b)))
		w.skip -= over
		b = b[over:]
	}
	if !w.lost && len(w.raw) <= maxHeader+16<<10 { // with more, net/http has given up
		w.raw = append(w.raw, b...)
	}
	return n, err
}

func (w *headerRecorder) CloseWrite() error {
	return w.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

// takeHeader returns the header of a request that has just begun to be served. It returns nil for
// a request after a chunked body or an upgrade, because the beginning of that header is unknown.
func (w *headerRecorder) takeHeader(r *http.Request) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	const end = "\r\n\r\n"
	i := bytes.Index(w.raw, []byte(end))
	if i < 0 || w.lost {
		return nil
	}
	head, rest := w.raw[:i+len(end)], w.raw[i+len(end):]
	w.raw = nil
	if r.ContentLength < 0 || r.Header.Get("Upgrade") != "" {
		w.lost = true
		return head
	}
	over := min(r.ContentLength, int64(len(rest)))
	w.skip = r.ContentLength - over
	if rest = rest[over:]; len(rest) > 0 {
		w.raw = append(w.raw, rest...)
	}
	return head
}

// ambiguity describes how servers could read a header in two ways. It returns "" if they cannot
// (RFC 9112, sections 2.2, 5.2, 6.1). first is the request line as net/http read it.
func ambiguity(head []byte, first string) string {
	lines := strings.Split(string(head), "\r\n")
	var length, encoding bool
	for i, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		switch {
		case strings.ContainsAny(line, "\r\n"):
			return "a line of the header ends in an unusual way"
		case i > 0 && line != "" && (line[0] == ' ' || line[0] == '\t'):
			return "a line of the header continues the one before"
		case strings.EqualFold(name, "content-length"):
			length = true
		case strings.EqualFold(name, "transfer-encoding"):
			encoding = true
		}
	}
	switch {
	case len(head) == 0:
		return "its header could not be recorded"
	case lines[0] != first: // net/http skips empty lines
		return "an empty line stands before it"
	case encoding && length:
		return "it has both Transfer-Encoding and Content-Length"
	case encoding && strings.HasSuffix(lines[0], " HTTP/1.0"):
		return "it is of HTTP/1.0 and has a Transfer-Encoding"
	}
	return ""
}
