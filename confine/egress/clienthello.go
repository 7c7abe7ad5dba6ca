package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress/front"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	recordAlert      = 0x15
	recordHandshake  = 0x16
	recordData       = 0x17
	minRecordType    = 0x14 // the first record type of TLS
	maxRecordType    = 0x18 // the last
	typeClientHello  = 1
	typeServerHello  = 2
	extServerName    = 0
	maxHead          = 32 << 10 // held back until a handshake or request head is complete
	tlsRecordHeader  = 5
	tlsMessageHeader = 4
)

var errClientHello = errors.New("a TLS handshake that cannot be read")

// isSSLv2Hello reports whether b begins with a ClientHello in SSLv2 format (RFC 5246 E.2).
// Servers may answer it with the TLS version that it offers. It has no extensions and so no
// server name. Byte 3 is the major version: 0 in SSLv2 itself, 3 later. more means that b is
// too short to decide.
func isSSLv2Hello(b []byte) (old, more bool) {
	switch {
	case b[0]&0x80 == 0, len(b) > 2 && b[2] != typeClientHello, len(b) > 3 && b[3] > 3:
		return false, false
	}
	return len(b) > 3, len(b) <= 3
}

// clientHello returns the server name of the ClientHello (RFC 8446 4.1.2) at the beginning of
// b, or "" if there is none. n is the length of its records, or 0 if b does not hold all of them.
func clientHello(b []byte) (name string, n int, err error) {
	if len(b) > 0 {
		switch old, more := isSSLv2Hello(b); {
		case old:
			return "", len(b), nil
		case more:
			return "", 0, nil
		}
	}
	var message []byte // the handshake message; records may split it anywhere
	for rest := b; len(rest) >= tlsRecordHeader; {
		n := recordSize(rest)
		if rest[0] != recordHandshake || rest[1] != 3 || n == 0 || n > 1<<14 {
			return "", 0, errClientHello
		}
		rest = rest[tlsRecordHeader:]
		message = append(message, rest[:min(n, len(rest))]...)
		if len(message) >= tlsMessageHeader {
			size := tlsMessageHeader + (int(message[1])<<16 | int(message[2])<<8 | int(message[3]))
			switch {
			case message[0] != typeClientHello || size > maxHead:
				return "", 0, errClientHello
			case len(message) > size: // another message in the same record
				return "", 0, errClientHello
			case len(message) == size && n <= len(rest):
				if name, err = helloName(message[tlsMessageHeader:]); err != nil {
					return "", 0, err
				}
				return name, len(b) - len(rest) + n, nil
			}
		}
		if n > len(rest) {
			break
		}
		rest = rest[n:]
	}
	return "", 0, nil
}

// recordSize returns the length of what follows the header of a TLS record.
func recordSize(b []byte) int { return int(b[3])<<8 | int(b[4]) }

// helloName returns the host in the extensions of a ClientHello. It returns an error where
// the server could read another name.
func helloName(hello []byte) (string, error) {
	s := octets(hello)
	_, ok1 := s.next(2 + 32) // version, random
	_, ok2 := s.vector(1)    // session
	_, ok3 := s.vector(2)    // ciphers
	_, ok4 := s.vector(1)    // compression
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return "", errClientHello
	}
	if len(s) == 0 {
		return "", nil
	}
	extensions, ok := s.vector(2)
	if !ok || len(s) != 0 {
		return "", errClientHello
	}
	name, found := "", false
	for len(extensions) > 0 {
		kind, ok1 := extensions.next(2)
		body, ok2 := extensions.vector(2)
		if !ok1 || !ok2 {
			return "", errClientHello
		}
		if kind[0] != 0 || kind[1] != extServerName {
			continue
		}
		list, ok1 := body.vector(2)
		sort, ok2 := list.next(1)
		host, ok3 := list.vector(2)
		if found || !ok1 || !ok2 || !ok3 || sort[0] != 0 || len(host) == 0 || len(list) != 0 || len(body) != 0 {
			return "", errClientHello
		}
		name, found = string(host), true
	}
	return name, nil
}

// octets is the unread rest of a message.
type octets []byte

func (s *octets) next(n int) (octets, bool) {
	if len(*s) < n {
		return nil, false
	}
	out := (*s)[:n]
	*s = (*s)[n:]
	return out, true
}

// vector cuts off a vector: a length of size bytes, then that many bytes.
func (s *octets) vector(size int) (octets, bool) {
	prefix, ok := s.next(size)
	if !ok {
		return nil, false
	}
	n := 0
	for _, b := range prefix {
		n = n<<8 | int(b)
	}
	return s.next(n)
}

// relayHello forwards a ClientHello whose name was checked, and what follows. A server can ask for a
// second ClientHello (RFC 8446 4.1.4), and OpenSSL then goes by the name in that one. A client may
// send it before it is asked. So nothing follows the first one before the server has answered.
func (r *relay) relayHello() error {
	if _, err := r.upstream.Write(r.head[:r.hello]); err != nil {
		return err
	}
	b := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(r.head[r.hello:]), r.client), maxHead)
	switch err := r.awaitAnswer(b); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	case r.first == answerHello:
		return r.relayBuffered(b)
	}
	return r.relaySecondHello(b)
}

func (r *relay) relaySecondHello(b *bufio.Reader) error {
	for {
		held, _ := b.Peek(b.Buffered())
		name, n, isHello, err := nextHello(held)
		if err != nil {
			return &refusal{policy.DeniedAmbiguous, err.Error()}
		}
		if isHello {
			if why, detail := r.g.rules.checkNames(r.d, protoTLS, []string{name}); why != "" {
				return &refusal{why, detail}
			}
		}
		// What was checked is sent, and nothing after it.
		if _, err := r.upstream.Write(held[:n]); err != nil {
			return err
		}
		b.Discard(n)
		if isHello {
			return r.relayBuffered(b)
		}
		if n > 0 {
			continue
		}
		switch _, err := b.Peek(b.Buffered() + 1); {
		case errors.Is(err, bufio.ErrBufferFull), err == io.EOF && len(held) > 0:
			return &refusal{policy.DeniedAmbiguous, errClientHello.Error()}
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// nextHello returns the length of the record at the beginning of b, or of a whole ClientHello with
// its name. n is 0 if b does not hold all of it. Before a second ClientHello servers skip other
// records: of a change of ciphers, an alert, or early data.
func nextHello(b []byte) (name string, n int, isHello bool, err error) {
	switch {
	case len(b) < tlsRecordHeader:
		return "", 0, false, nil
	case b[0] == recordHandshake:
		name, n, err = clientHello(b)
		return name, n, n > 0, err
	case b[0] < minRecordType || b[0] > recordData || b[1] != 3:
		return "", 0, false, errClientHello
	}
	if n = tlsRecordHeader + recordSize(b); n > len(b) {
		n = 0
	}
	return "", n, false, nil
}

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
// front.ParseHead then refuses a request that is not strictly written. So sniffProtocol
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
	for method < len(line) && front.IsTokenByte(line[method]) {
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
