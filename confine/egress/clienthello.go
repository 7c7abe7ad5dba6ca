package egress

import "errors"

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
