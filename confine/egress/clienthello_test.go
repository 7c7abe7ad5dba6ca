package egress

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// oldTLS offers TLS 1.2 as programs did that could still speak SSLv2.
const oldTLS = "\x80\x1c\x01\x03\x03\x00\x03\x00\x00\x00\x10\x00\x00\x2f0123456789abcdef"

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
	n := testkit.Get(theirs.Read(b))(t)
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

// oneRecord is a record of TLS 1.0.
func oneRecord(message []byte) []byte {
	return append([]byte{recordHandshake, 3, 1, byte(len(message) >> 8), byte(len(message))}, message...)
}

func TestClientHello(t *testing.T) {
	whole := hello(t, "api.test")
	for n := range len(whole) {
		if name, size, err := clientHello(whole[:n]); name != "" || size != 0 || err != nil {
			t.Fatalf("the first %d octets: %q, %d, %v", n, name, size, err)
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
		{"with another message in its record", oneRecord(append(bytes.Clone(whole[tlsRecordHeader:]), whole[tlsRecordHeader:]...)), "", true},
		{"a huge message", []byte("\x16\x03\x01\x00\x04\x01\xff\xff\xff"), "", true},
		{"an empty record", []byte("\x16\x03\x01\x00\x00"), "", true},
		{"a record that is too long", []byte("\x16\x03\x01\xff\xff"), "", true},
		{"an alert within", append(records(whole, 100)[:105], "\x15\x03\x01\x00\x02\x01\x00"...), "", true},
	} {
		name, n, err := clientHello(c.b)
		if name != c.name || (err != nil) != c.bad || (n == 0) != c.bad {
			t.Errorf("%s: %q, %d, %v", c.what, name, n, err)
		}
	}
}

// TestClientHelloExtensions reads server names in forms that crypto/tls does not write.
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
			got, n, err := clientHello([]byte("\x16\x03\x01" + vector(2, message)))
			if err != nil {
				got = "error"
			}
			if got != want || (n == 0) != (want == "error") {
				t.Errorf("%q and %q behind it: %q, %d, want %q", extensions, behind, got, n, want)
			}
		}
	}
}

// readConn is a connection of which only reading matters.
type readConn struct {
	net.Conn
	io.Reader
}

func (c readConn) Read(b []byte) (int, error) { return c.Reader.Read(b) }

func (readConn) Write(b []byte) (int, error) { return len(b), nil }
