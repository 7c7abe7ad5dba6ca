package egress

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcp-jail/mcp-jail/policy"
)

// hello is a ClientHello as crypto/tls writes it.
func hello(t testing.TB, name string) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go func() {
		tls.Client(ours, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
		ours.Close()
	}()
	b := make([]byte, 1<<16)
	n, err := theirs.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// records cuts a handshake into records of n octets.
func records(hello []byte, n int) (out []byte) {
	for rest := hello[tlsRecordHeader:]; len(rest) > 0; rest = rest[min(n, len(rest)):] {
		size := min(n, len(rest))
		out = append(append(out, hello[0], hello[1], hello[2], byte(size>>8), byte(size)), rest[:size]...)
	}
	return out
}

func TestClientHello(t *testing.T) {
	whole := hello(t, "api.test")
	for n := range len(whole) {
		if name, more, err := clientHello(whole[:n]); name != "" || !more || err != nil {
			t.Fatalf("the first %d octets: %q, %v, %v", n, name, more, err)
		}
	}
	// The name twice; another kind of name; a list of two; lengths that do not add up.
	i := bytes.Index(whole, []byte("\x00\x00\x00\x0d\x00\x0b\x00\x00\x08api.test"))
	if i < 0 {
		t.Fatal("crypto/tls writes it otherwise by now")
	}
	change := func(at int, b byte) []byte {
		c := bytes.Clone(whole)
		c[i+at] = b
		return c
	}
	for _, c := range []struct {
		what string
		b    []byte
		name string
		bad  bool
	}{
		{"whole", whole, "api.test", false},
		{"with more behind it", append(bytes.Clone(whole), "\x14\x03\x03\x00\x01\x01"...), "api.test", false},
		{"in records of one octet", records(whole, 1), "api.test", false},
		{"in records of 100", records(whole, 100), "api.test", false},
		{"without a name", hello(t, ""), "", false},
		{"another kind of name", change(6, 1), "", true},
		{"a shorter list", change(5, 0x0a), "", true},
		{"a longer extension", change(3, 0x0e), "", true},
		{"a message of another kind", append([]byte("\x16\x03\x01\x00\x04\x02\x00\x00\x00"), whole...), "", true},
		{"a huge message", []byte("\x16\x03\x01\x00\x04\x01\xff\xff\xff"), "", true},
		{"an empty record", []byte("\x16\x03\x01\x00\x00"), "", true},
		{"a record that is too long", []byte("\x16\x03\x01\xff\xff"), "", true},
		{"an alert within", append(records(whole, 100)[:105], "\x15\x03\x01\x00\x02\x01\x00"...), "", true},
	} {
		name, more, err := clientHello(c.b)
		if name != c.name || more || (err != nil) != c.bad {
			t.Errorf("%s: %q, %v, %v", c.what, name, more, err)
		}
	}
}

// A name in a form that crypto/tls would not write.
func TestClientHelloExtensions(t *testing.T) {
	vector := func(size int, b string) string {
		return string([]byte{byte(len(b) >> 8), byte(len(b))}[2-size:]) + b
	}
	name := "\x00\x00" + vector(2, vector(2, "\x00"+vector(2, "api.test")))
	for extensions, want := range map[string]string{
		name:                      "api.test",
		"\x00\x17\x00\x00" + name: "api.test",
		name + name:               "error",
		"\x00\x00" + vector(2, vector(2, "\x00"+vector(2, "api.test"))+"x"):                      "error",
		"\x00\x00" + vector(2, vector(2, "\x00"+vector(2, "a.test")+"\x00"+vector(2, "b.test"))): "error",
		"\x00\x00" + vector(2, vector(2, "\x00"+vector(2, ""))):                                  "error",
		"\x00\x00\x00\x00": "error",
		name + "\x00":      "error",
		"":                 "",
	} {
		body := "\x03\x03" + strings.Repeat("r", 32) + vector(1, "") + vector(2, "\x13\x01") + vector(1, "\x00") + vector(2, extensions)
		for behind, want := range map[string]string{"": want, "\x00\x00": "error"} {
			message := "\x01\x00" + vector(2, body+behind)
			got, more, err := clientHello([]byte("\x16\x03\x01" + vector(2, message)))
			if err != nil {
				got = "error"
			}
			if got != want || more {
				t.Errorf("%q and %q behind it: %q, %v, want %q", extensions, behind, got, more, want)
			}
		}
	}
}

func TestHeadsThatNeedNoMore(t *testing.T) {
	for _, head := range []string{"GET / HTTP/1.1\nHost: a.test\n\n", "GET / HTTP/1.1\r\nHost: a.test\n", "\n", strings.Repeat("x", maxHead)} {
		_, _, err := readRequestHead(bufio.NewReaderSize(io.MultiReader(strings.NewReader(head), iotest.ErrReader(io.ErrNoProgress)), maxHead))
		var refused *refusal
		if !errors.As(err, &refused) || refused.why != policy.DeniedAmbiguous {
			t.Errorf("%.50q: %v", head, err)
		}
	}
}

func TestGuess(t *testing.T) {
	for b, want := range map[string]protocol{
		"":                                     protoUnknown,
		"\x16":                                 protoUnknown,
		"\x16\x03":                             protoTLS,
		"\x16\x02":                             protoOther,
		"\x15":                                 protoUnknown,
		"\x15\x03\x01\x00\x02\x01\x5a":         protoTLS, // an alert, behind which some servers read on
		"\x14\x03":                             protoTLS,
		"\x18\x03":                             protoTLS,
		"\x15\x02":                             protoOther,
		"\x80":                                 protoUnknown, // SSLv2's format, perhaps
		"\x80\x2e\x01":                         protoUnknown,
		"\x80\x2e\x01\x03":                     protoTLS,
		"\x80\x2e\x01\x00\x02":                 protoTLS,
		"\x85\x2e\x01\x03":                     protoTLS, // begins with what could be a space
		"\x80\x2e\x01\x04":                     protoOther,
		"\x80\x2e\x04":                         protoOther,
		"\x80\x01\x00\x01\x00\x00\x00\x04ping": protoOther, // Thrift
		"\x85GET / HTTP/1.1\r\n":               protoHTTP,
		"\x13\x03":                             protoOther,
		"\x19\x03":                             protoOther,
		"G":                                    protoUnknown,
		"GET / HT":                             protoUnknown,
		"GET / HTTP/1.1\r\n":                   protoHTTP,
		"get / http/1.1\n":                     protoHTTP,
		"\r\n\r\n GET / HTTP/1.1\r\n":          protoHTTP,
		"GET\x1c/\x85HTTP/1.1\r\n":             protoHTTP,
		"put /x http/1.1\n":                    protoHTTP,
		"GET\t/\tHTTP/1.1\r\n":                 protoHTTP,
		"GET /x\r\n":                           protoHTTP,
		"GET http://evil.test/\n":              protoHTTP,
		"POST /\x00 HTTP/1.1\r\n":              protoHTTP,
		strings.Repeat("\r\n", 40):             protoHTTP,
		"PRI * HTTP/2.0\r\n":                   protoHTTP,
		"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n":   protoHTTP,
		"\r\n\r\n\x00\r\nQUIT\n":               protoHTTP,
		"PING\r\n":                             protoOther,
		"EHLO x\r\n":                           protoOther,
		"RETR /file\r\n":                       protoOther,
		"GET key\r\n":                          protoOther,
		"SSH-2.0-x\r\n":                        protoOther,
		"\x00\x00\x00\x08\x04\xd2\x16/":        protoOther,
		"\x3a\x00\x00\x00GET / HTTP/1.1":       protoOther,
		"*1\r\n$4\r\nPING\r\n":                 protoOther,
	} {
		if got := sniffProtocol([]byte(b)); got != want {
			t.Errorf("%q: %v, want %v", b, got, want)
		}
	}
}

func TestRequestHead(t *testing.T) {
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
		{"\r\n\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"\rGET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{" GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"\tGET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
		{"\x00GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
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
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1, 1\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 99999999999999999999\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
		{"POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: \xa0chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: \"chunked\"\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked;q=1\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding:\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: identity\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding : chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding\x00: chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer_Encoding: chunked\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent_Length: 12\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: h2c\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: foo, H2C\r\n\r\n", ""},
	} {
		got := ""
		r, n, err := parseRequestHead([]byte(c.head))
		if err == nil {
			got = strings.Join(r.hosts, ",") + " 0"
			if r.chunked {
				got = strings.Join(r.hosts, ",") + " chunked"
			} else if r.length > 0 {
				got = strings.Join(r.hosts, ",") + " 12"
			}
			if n != len(c.head) {
				t.Errorf("%q: its head has %d octets", c.head, n)
			}
			for cut := range len(c.head) {
				if _, n, err := parseRequestHead([]byte(c.head[:cut])); n != 0 || err != nil {
					t.Errorf("%q: %d, %v", c.head[:cut], n, err)
				}
			}
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.head, got, c.want)
		}
	}
}

func TestChunks(t *testing.T) {
	for body, ok := range map[string]bool{
		"0\r\n\r\n": true,
		"3\r\nabc\r\nA\r\n0123456789\r\n000\r\nT: 1\r\n\r\n": true,
		"3;x=y\r\nabc\r\n0\r\n\r\n":                          false,
		"3;\r\nabc\r\n0\r\n\r\n":                             false,
		"3;x=\"\r\nabc\r\n0\r\n\r\n":                         false,
		"0;x\r\n\r\n":                                        false,
		"3\r\nabc\n0\r\n\r\n":                                false,
		"0\r\nHost: b.test\r\n\r\n":                          false,
		"0\r\ncontent-length: 3\r\n\r\n":                     false,
		"0\r\nTransfer-Encoding: chunked\r\n\r\n":            false,
		"3\r\nabcd\r\n0\r\n\r\n":                             false,
		"3\nabc\n0\n\n":                                      false,
		"\r\n":                                               false,
		"-1\r\n":                                             false,
		"0x3\r\nabc\r\n0\r\n\r\n":                            false,
		"3 \r\nabc\r\n0\r\n\r\n":                             false,
		"10000000000000000\r\n\r\n":                          false, // none, to who counts in 64 bits
		"3;\n0\r\n\r\n":                                      false,
		"0\r\nGET / HTTP/1.1\r\n\r\n":                        false,
		"0\r\n X: y\r\n\r\n":                                 false,
		strings.Repeat("0", 40<<10) + "\r\n\n":               false,
	} {
		var out bytes.Buffer
		b := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(body+"GET")), maxHead)
		err := copyChunks(&out, b)
		if (err == nil) != ok || ok && out.String() != body {
			t.Errorf("%.80q: %q, %v", body, out.String(), err)
		}
	}
}

func FuzzClientHello(f *testing.F) {
	f.Add(hello(f, "api.test"))
	f.Add(records(hello(f, "api.test"), 7))
	f.Add(hello(f, ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		if sniffProtocol(b) != protoTLS {
			return
		}
		name, more, err := clientHello(b)
		if more || err != nil {
			return
		}
		// Whoever takes it for a handshake reads the same name.
		got := "none"
		server := tls.Server(readConn{Reader: bytes.NewReader(b)}, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			got = h.ServerName
			return nil, io.EOF
		}})
		server.Handshake()
		if got != "none" && got != name {
			t.Errorf("%q here, %q there", name, got)
		}
	})
}

// readConn is a connection of which only reading matters.
type readConn struct {
	net.Conn
	io.Reader
}

func (c readConn) Read(b []byte) (int, error) { return c.Reader.Read(b) }
func (readConn) Write(b []byte) (int, error)  { return len(b), nil }

func FuzzRequests(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"))
	f.Add([]byte("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("PUT / HTTP/1.1\r\nContent-Length: 3\r\nHost: a.test\r\n\r\nabcGET / HTTP/1.1\r\nHost: a.test\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ours := bufio.NewReaderSize(bytes.NewReader(b), maxHead)
		head, req, err := readRequestHead(ours)
		if err != nil {
			return
		}
		if sniffProtocol(b) != protoHTTP {
			t.Errorf("%q passes for no HTTP", b)
		}
		// net/http reads the same host, or nothing.
		theirs, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return
		}
		host, _ := cutPort(theirs.Host)
		if !strings.EqualFold(host, req.hosts[0]) {
			t.Errorf("%q here, %q there: %q", req.hosts, host, head)
		}
		length := req.length
		if req.chunked {
			length = -1
		}
		if theirs.ContentLength != length {
			t.Errorf("a body of %d here, %d there: %q", length, theirs.ContentLength, head)
		}
	})
}
