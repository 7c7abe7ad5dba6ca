package http1

import (
	"strings"
	"testing"
)

func TestParseHead(t *testing.T) {
	for _, c := range []struct {
		head string
		want string // the hosts, what follows; "" where it is refused
	}{
		{"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "a.test 0"},
		{"GET / HTTP/1.1\r\nhOST:\ta.test:80 \r\n\r\n", "a.test 0"},
		{"GET / HTTP/1.0\r\n\r\n", " 0"},
		{"GET / HTTP/1.1\r\nHost:\r\n\r\n", " 0"},
		{"OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "[::1] 0"},
		{"GET HTTP://b.test:80?x HTTP/1.1\r\nHost: a.test\r\n\r\n", "b.test,a.test 0"},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 12\r\n\r\n", "a.test 12"},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: Chunked\r\n\r\n", "a.test chunked"},

		{"\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{" GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"GET / HTTP/1.1\nHost: a.test\n\n", ""},
		{"GET / HTTP/1.1\r\r\nHost: a.test\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nHost : a.test\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nX: y\r\n Host: b.test\r\nHost: a.test\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\n Host: b.test\r\nHost: a.test\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: b.test@a.test\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: a.test:80b.test\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nX\rHost: b.test\r\nHost: a.test\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nX: \x00\r\nHost: a.test\r\n\r\n", ""},
		{"GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n", ""},
		{"GET / x HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"GET / HTTP/2.0\r\nHost: a.test\r\n\r\n", ""},
		{"GET /\r\n\r\n", ""},
		{"GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"GET http:///x HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"GET http://a.test@b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"GET a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: +1\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 99999999999999999999\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
		{"POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: \xa0chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding:\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding : chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding\x00: chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer_Encoding: chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent_Length: 12\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nKeep_Alive: 12\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: te\r\nTE: trailers\r\nTE: gzip\r\nKeep-Alive: 1\r\n\r\n", "a.test 0"},
		{"GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: h2c\r\n\r\n", ""},
	} {
		got := ""
		r, n, err := ParseHead([]byte(c.head))
		if err == nil {
			got = strings.Join(r.Hosts, ",") + " 0"
			if r.Chunked {
				got = strings.Join(r.Hosts, ",") + " chunked"
			} else if r.Length > 0 {
				got = strings.Join(r.Hosts, ",") + " 12"
			}
			if n != len(c.head) {
				t.Errorf("%q: its head has %d octets", c.head, n)
			}
			for cut := range len(c.head) {
				if _, n, err := ParseHead([]byte(c.head[:cut])); n != 0 || err != nil {
					t.Errorf("%q: %d, %v", c.head[:cut], n, err)
				}
			}
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.head, got, c.want)
		}
	}
}
