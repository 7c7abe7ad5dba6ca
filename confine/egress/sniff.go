package egress

import (
	"bytes"
	"strings"
)

// isSpace reports whether some server or other takes c for a space in the line of a
// request: Python's own splits it as text of Latin-1.
func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c >= 0x1c && c <= 0x1f || c == 0x85 || c == 0xa0
}

func skipSpace(b []byte, lines bool) []byte {
	for len(b) > 0 && (isSpace(b[0]) || lines && (b[0] == '\r' || b[0] == '\n')) {
		b = b[1:]
	}
	return b
}

// protocol is what the first bytes of a connection are.
type protocol int

const (
	protoUnknown protocol = iota // more has to be read
	protoTLS                     // a handshake
	protoHTTP
	protoOther // evidently neither
)

// scheme is that of the rules.
func (p protocol) scheme() string {
	switch p {
	case protoTLS:
		return "https"
	case protoHTTP:
		return "http"
	}
	return "tcp"
}

// sniffProtocol tells what b, the first bytes that a client sent, are the beginning of.
// What a lenient server could take for HTTP is HTTP here: requestHead will
// refuse what is not written strictly. So a client that sends the beginning of what
// could be a request is waited for; that of a line without a space, or
// of binary data, is not.
func sniffProtocol(b []byte) protocol {
	if len(b) == 0 {
		return protoUnknown
	}
	// TLS begins with a handshake, and clientHello refuses all else. But there are servers
	// that read on behind a record of another kind.
	if b[0] >= minRecordType && b[0] <= maxRecordType {
		switch {
		case len(b) == 1:
			return protoUnknown
		case b[1] == 3:
			return protoTLS
		}
		return protoOther
	}
	switch old, more := isSSLv2Hello(b); {
	case old:
		return protoTLS
	case more:
		return protoUnknown
	}
	line := skipSpace(b, true)
	if len(b)-len(line) > 64 {
		return protoHTTP // some servers skip as many as there are
	}
	method := 0
	for method < len(line) && isTokenByte(line[method]) {
		method++
	}
	switch {
	case method == 0 && len(line) > 0:
		if len(line) < len(b) && line[0] == 0 {
			return protoHTTP // what a load balancer says before it
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
		return protoHTTP // GET without a version, as in HTTP's first years
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
