package http1

import "strings"

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
