package egress

import (
	"bytes"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress/http1"
)

// isSpace reports whether some server takes c for a space in a request line. Python's
// http.server, for example, splits the line as Latin-1 text.
func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c >= 0x1c && c <= 0x1f || c == 0x85 || c == 0xa0
}

func skipSpace(b []byte, lines bool) []byte {
	for len(b) > 0 && (isSpace(b[0]) || lines && (b[0] == '\r' || b[0] == '\n')) {
		b = b[1:]
	}
	return b
}

// protocol is the kind of protocol that the first bytes of a connection show.
type protocol int

const (
	protoUnknown protocol = iota // more bytes are needed
	protoTLS                     // a TLS handshake
	protoHTTP
	protoOther // certainly neither
)

func (p protocol) scheme() string {
	switch p {
	case protoTLS:
		return "https"
	case protoHTTP:
		return "http"
	}
	return "tcp"
}

// sniffProtocol returns the protocol that b, the first bytes of a client, belongs to.
//
// It returns protoHTTP for everything that a lenient server could take for HTTP;
// http1.ParseHead then refuses a request that is not strictly written. So sniffProtocol
// asks for more bytes while they could become a request. It does not wait after binary data
// or a line without a space.
func sniffProtocol(b []byte) protocol {
	if len(b) == 0 {
		return protoUnknown
	}
	// TLS begins with a handshake record, and clientHello refuses any other record. Some servers
	// skip a record of another type, so such a record counts as TLS too.
	if b[0] >= minRecordType && b[0] <= maxRecordType {
		return sniffRecord(b)
	}
	switch old, more := isSSLv2Hello(b); {
	case old:
		return protoTLS
	case more:
		return protoUnknown
	}
	line := skipSpace(b, true)
	if len(b)-len(line) > 64 {
		return protoHTTP // some servers skip any number of empty lines
	}
	method := 0
	for method < len(line) && http1.IsTokenByte(line[method]) {
		method++
	}
	switch {
	case method == 0 && len(line) > 0:
		if len(line) < len(b) && line[0] == 0 {
			return protoHTTP // a NUL byte after blanks, as some load balancers send before a request
		}
		return protoOther
	case method == len(line):
		return protoUnknown
	case !isSpace(line[method]):
		return protoOther
	}
	end := bytes.IndexAny(line, "\n\x00")
	if end < 0 {
		return protoUnknown
	}
	first, target := string(line[:end]), string(skipSpace(line[method:end], false))
	path := strings.HasPrefix(target, "/") || len(target) > 5 && strings.EqualFold(target[:5], "http:")
	switch {
	case strings.Contains(strings.ToUpper(first), "HTTP/"), first[:method] == "PROXY":
		return protoHTTP
	case path && (line[end] == 0 || strings.EqualFold(first[:method], "GET")):
		return protoHTTP // an HTTP/0.9 request has no version
	}
	return protoOther
}

// sniffRecord returns the protocol of bytes that begin with the type of a TLS record. The first
// record is a ClientHello, or a warning before it. In its version the servers of Go take any number
// below 16.0, and those of Java any from 3.0, after empty records too. Other servers take 3.x alone.
// Other protocols begin with a length that can have these values, so more than the type is asked for.
func sniffRecord(b []byte) protocol {
	switch {
	case len(b) == 1:
		return protoUnknown
	case b[1] == 3:
		return protoTLS
	case b[0] != recordHandshake && b[0] != recordAlert:
		return protoOther
	case len(b) < 6:
		return protoUnknown
	case b[0] == recordAlert && recordSize(b) == 2:
		return protoTLS
	case b[0] == recordHandshake && (b[5] == typeClientHello || recordSize(b) == 0 && (b[5] == recordHandshake || b[5] == recordAlert)):
		return protoTLS
	}
	return protoOther
}

func (p protocol) String() string {
	switch p {
	case protoTLS:
		return "TLS"
	case protoHTTP:
		return "HTTP"
	}
	return "neither TLS nor HTTP"
}
