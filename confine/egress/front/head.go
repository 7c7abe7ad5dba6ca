package front

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// ErrNotStrict rejects a request that two servers could read in two ways, or whose host
// ParseHead cannot tell.
var ErrNotStrict = errors.New("an HTTP request that is not strictly written")

// Request is what the Gateway needs to know of an HTTP/1 request.
type Request struct {
	Hosts     []string // at most two: of the target and of the Host field
	Length    int64    // of the body
	Chunked   bool
	WebSocket bool // asks for an upgrade to WebSocket
}

// ParseHead parses the request head at the beginning of b (RFC 9112). n is the length
// of the head, or 0 if b does not hold all of it. Where servers differ, it accepts only the
// form that all of them read as the same request. So it also rejects an empty line before a
// request, which some servers skip.
func ParseHead(b []byte) (r Request, n int, err error) {
	line, rest, more, err := CutLine(b)
	if more || err != nil {
		return r, 0, err
	}
	version, err := r.parseRequestLine(string(line))
	if err != nil {
		return r, 0, err
	}
	seen := map[string]bool{}
	for {
		if line, rest, more, err = CutLine(rest); more || err != nil {
			return Request{}, 0, err
		}
		if len(line) == 0 {
			break
		}
		if err := r.parseField(string(line), seen); err != nil {
			return r, 0, err
		}
	}
	// With both, or in HTTP/1.0, servers differ about where the body ends.
	if r.Chunked && (seen["content-length"] || version != "HTTP/1.1") {
		return r, 0, ErrNotStrict
	}
	if !seen["host"] {
		r.Hosts = append(r.Hosts, "")
	}
	return r, len(b) - len(rest), nil
}

// CutLine cuts off the first line. Only CR LF ends a line; neither may occur elsewhere.
func CutLine(b []byte) (line, rest []byte, more bool, err error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return nil, nil, true, nil
	}
	line = b[:end]
	if end == 0 || line[end-1] != '\r' {
		return nil, nil, false, ErrNotStrict
	}
	line = line[:end-1]
	for _, c := range line {
		if c < ' ' && c != '\t' || c == 0x7f {
			return nil, nil, false, ErrNotStrict
		}
	}
	return line, b[end+1:], false, nil
}

func (r *Request) parseRequestLine(line string) (version string, err error) {
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	if !IsToken(method) || method == "CONNECT" || version != "HTTP/1.1" && version != "HTTP/1.0" {
		return "", ErrNotStrict
	}
	switch {
	case target == "" || strings.ContainsAny(target, "\t"):
		return "", ErrNotStrict
	case target[0] == '/', target == "*":
	case len(target) > 7 && strings.EqualFold(target[:7], "http://"):
		authority := target[7:]
		if i := strings.IndexAny(authority, "/?#"); i >= 0 {
			authority = authority[:i]
		}
		host, ok := cutPort(authority)
		if !ok || host == "" {
			return "", ErrNotStrict
		}
		r.Hosts = append(r.Hosts, host)
	default:
		return "", ErrNotStrict
	}
	return version, nil
}

func (r *Request) parseField(line string, seen map[string]bool) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok || !IsToken(name) { // a space before the colon, or a folded line
		return ErrNotStrict
	}
	name, value = strings.ToLower(name), strings.Trim(value, " \t")
	if why := CheckField(name, InHeader); why != "" {
		return errors.New(why)
	}
	switch name {
	case "host", "content-length", "transfer-encoding", "upgrade":
		if seen[name] {
			return ErrNotStrict
		}
		seen[name] = true
	}
	switch name {
	case "host":
		host, ok := cutPort(value)
		if !ok {
			return ErrNotStrict
		}
		r.Hosts = append(r.Hosts, host)
	case "content-length":
		n, err := strconv.ParseUint(value, 10, 62)
		if err != nil || strings.Trim(value, "0123456789") != "" {
			return ErrNotStrict
		}
		r.Length = int64(n)
	case "transfer-encoding":
		if !strings.EqualFold(value, "chunked") {
			return ErrNotStrict
		}
		r.Chunked = true
	case "upgrade":
		// An upgrade to cleartext HTTP/2 would hide the hosts of later Requests.
		if strings.Contains(strings.ToLower(value), "h2c") {
			return ErrNotStrict
		}
		r.WebSocket = strings.EqualFold(value, "websocket")
	}
	return nil
}

func cutPort(authority string) (host string, ok bool) {
	host = authority
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host = authority[:i]
		if strings.Trim(authority[i+1:], "0123456789") != "" {
			return "", false
		}
	}
	return host, !strings.ContainsAny(host, " \t,@/\\") && (host != "" || authority == "")
}

// IsToken reports whether s is a token, as methods and field names are (RFC 9110 5.6.2).
func IsToken(s string) bool {
	for i := range len(s) {
		if !IsTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func IsTokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// Section is the part of a message that has a field.
type Section string

// The sections of a message.
const (
	InHeader  Section = "header"
	InTrailer Section = "trailer"
)

// ofMessage are the fields that name the host of a message, say where it ends, or are about one
// connection alone (RFC 9110, 7.2, 7.6.1 and 8.6). The names are in the form of CanonicalField.
var ofMessage = map[string]bool{
	"host": true, "content-length": true, "transfer-encoding": true,
	"connection": true, "keep-alive": true, "proxy-connection": true, "te": true, "trailer": true, "upgrade": true, "http2-settings": true,
}

// CheckField returns why a request with a field of this name is not forwarded, or "". It is the one
// place that decides so, for each version of HTTP and for Requests that are seen or not.
func CheckField(name string, in Section) string {
	switch read := CanonicalField(name); {
	case !ofMessage[read]:
		return ""
	case in == InTrailer: // some servers treat trailer fields as header fields
		return "its trailer has the field " + read + ", which some servers read as one of its header"
	case !strings.EqualFold(name, read):
		return "a field has a name that some servers read as " + read
	}
	return ""
}

// CanonicalField returns the name of a field as the most lenient server reads it: in small letters,
// with "-" for every character except letters and digits, and without any at its ends. In CGI
// (RFC 3875, 4.1.18) and WSGI, "-" and "_" are the same; PHP reads "." and a blank so, too.
func CanonicalField(name string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		}
		return '-'
	}, name), "-")
}
