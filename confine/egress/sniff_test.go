package egress

import (
	"strings"
	"testing"
)

func TestSniffProtocol(t *testing.T) {
	for b, want := range map[string]protocol{
		"":                                     protoUnknown,
		"\x16":                                 protoUnknown,
		"\x16\x03":                             protoTLS,
		"\x16\x02":                             protoUnknown,
		"\x16\x02\x01\x00\x50\x01":             protoTLS, // servers of Go ignore this version
		"\x16\x00\x00\x00\x50\x01":             protoTLS,
		"\x16\x10\x00\x00\x50\x01":             protoTLS, // and those of Java this one
		"\x16\x04\x00\x00\x00\x16":             protoTLS, // an empty record, which they skip
		"\x16\xff\xff\x00\x00\x15":             protoTLS,
		"\x15\xff\xff\x00\x02\x01\x5a":         protoTLS,
		"\x16\x10\x00\x00\x00\x03":             protoOther,
		"\x16\x02\x01\x00\x50\x02":             protoOther,
		"\x16\x00\x00\x01\x85\xa6\xff":         protoOther, // MySQL: a length, a number, capabilities
		"\x15\x00\x00\x00\x02\x01\x5a":         protoTLS,   // a warning, behind which they read on
		"\x15":                                 protoUnknown,
		"\x15\x03\x01\x00\x02\x01\x5a":         protoTLS, // an alert, after which some servers read on
		"\x14\x03":                             protoTLS,
		"\x80":                                 protoUnknown, // SSLv2's format, perhaps
		"\x80\x2e\x01":                         protoUnknown,
		"\x80\x2e\x01\x03":                     protoTLS,
		"\x85\x2e\x01\x03":                     protoTLS, // begins with what could be a space
		"\x80\x2e\x04":                         protoOther,
		"\x80\x01\x00\x01\x00\x00\x00\x04ping": protoOther, // Thrift
		"\x85GET / HTTP/1.1\r\n":               protoHTTP,
		"\x13\x03":                             protoOther,
		"G":                                    protoUnknown,
		"GET / HT":                             protoUnknown,
		"GET / HTTP/1.1\r\n":                   protoHTTP,
		"\r\n\r\n GET / HTTP/1.1\r\n":          protoHTTP,
		"GET\x1c/\x85HTTP/1.1\r\n":             protoHTTP,
		"GET http://evil.test/\n":              protoHTTP,
		"POST /\x00 HTTP/1.1\r\n":              protoHTTP,
		strings.Repeat("\r\n", 40):             protoHTTP,
		"PRI * HTTP/2.0\r\n":                   protoHTTP,
		"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n":   protoHTTP,
		"\r\n\r\n\x00\r\nQUIT\n":               protoHTTP,
		"PING\r\n":                             protoOther,
		"EHLO x\r\n":                           protoOther,
		"GET key\r\n":                          protoOther,
		"SSH-2.0-x\r\n":                        protoOther,
		"\x00\x00\x00\x08\x04\xd2\x16/":        protoOther,
		"\x3a\x00\x00\x00GET / HTTP/1.1":       protoOther,
	} {
		if got := sniffProtocol([]byte(b)); got != want {
			t.Errorf("%q: %v, want %v", b, got, want)
		}
	}
}
