package front

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

const password = "0123456789abcdef0123456789abcdef"

// refusals are what a Front records.
type refusals []string

func (r *refusals) deny(host string, port int, why policy.DenialReason, detail string) {
	*r = append(*r, fmt.Sprintf("%s:%d %s %s", host, port, why, detail))
}

// pair returns both ends of a connection.
func pair(t testing.TB) (client, server *net.TCPConn) {
	t.Helper()
	listeners, _, err := Listen()
	testkit.Must(t, err)
	for _, l := range listeners {
		defer l.Close()
	}
	c, err := net.Dial("tcp", listeners[0].Addr().String())
	testkit.Must(t, err)
	s, err := listeners[0].AcceptTCP()
	testkit.Must(t, err)
	t.Cleanup(func() { c.Close(); s.Close() })
	return c.(*net.TCPConn), s
}

// converse sends bytes to a Front and ends its side. It returns the client that the Front reads, and
// what the Front answers before the decision.
func converse(t testing.TB, send string) (c *Client, answer string, denied refusals) {
	t.Helper()
	client, server := pair(t)
	var seen refusals
	f := New(password, seen.deny)
	go func() {
		io.WriteString(client, send)
		client.CloseWrite()
	}()
	c = f.Greet(context.Background(), server)
	server.Close()
	b, err := io.ReadAll(client)
	testkit.Must(t, err)
	for _, d := range f.Unasked() {
		seen = append(seen, "none: "+d.Detail)
	}
	return c, string(b), seen
}

func basic(credentials string) string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(credentials)) + "\r\n"
}

// TestPassword: no client without the password gets anything, and what it asks for is not on record.
func TestPassword(t *testing.T) {
	const wrong, none = ":0 unsupported a program gave a wrong password", "none: a program gave no password, though HTTPS_PROXY has one"
	text := func(s string) string { return string(byte(len(s))) + s }
	asks := "\x05\x01\x00\x03\x06a.test\x01\xbb"
	for _, c := range []struct {
		what, send string
		answer     string // that it begins with
		denied     string
	}{
		{"no password", "CONNECT a.test:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 407 ", none},
		{"another password", "CONNECT a.test:443 HTTP/1.1\r\n" + basic("jail:0123456789abcdef0123456789abcdee") + "\r\n", "HTTP/1.1 407 ", wrong},
		{"the beginning of it", "CONNECT a.test:443 HTTP/1.1\r\n" + basic("jail:"+password[:31]) + "\r\n", "HTTP/1.1 407 ", wrong},
		{"more than it", "CONNECT a.test:443 HTTP/1.1\r\n" + basic("jail:"+password+"0") + "\r\n", "HTTP/1.1 407 ", wrong},
		{"another user", "CONNECT a.test:443 HTTP/1.1\r\n" + basic("root:"+password) + "\r\n", "HTTP/1.1 407 ", wrong},
		{"no user", "CONNECT a.test:443 HTTP/1.1\r\n" + basic(password) + "\r\n", "HTTP/1.1 407 ", wrong},
		{"empty ones", "CONNECT a.test:443 HTTP/1.1\r\n" + basic(":") + "\r\n", "HTTP/1.1 407 ", wrong},
		{"no base64", "CONNECT a.test:443 HTTP/1.1\r\nProxy-Authorization: Basic ???\r\n\r\n", "HTTP/1.1 407 ", wrong},
		{"another scheme", "CONNECT a.test:443 HTTP/1.1\r\nProxy-Authorization: Bearer " + password + "\r\n\r\n", "HTTP/1.1 407 ", wrong},
		{"that of the host", "CONNECT a.test:443 HTTP/1.1\r\n" + strings.TrimPrefix(basic("jail:"+password), "Proxy-") + "\r\n", "HTTP/1.1 407 ", none},
		{"two", "CONNECT a.test:443 HTTP/1.1\r\n" + basic("x:y") + basic("jail:"+password) + "\r\n", "HTTP/1.1 407 ", wrong},
		{"a URL", "GET http://a.test/ HTTP/1.1\r\n\r\n", "HTTP/1.1 407 ", none},
		{"credentials in a URL", "GET http://jail:" + password + "@a.test/ HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ", ""},
		{"a browser", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400 ", ""},
		{"garbage", "\x16\x03\x01\x00\x05\r\n\r\n", "HTTP/1.1 400 ", ""},
		{"half a head", "CONNECT a.test:443 HTTP/1.1\r\n", "HTTP/1.1 400 ", ""},
		{"a long head", "CONNECT a.test:443 HTTP/1.1\r\nX: " + strings.Repeat("x", maxHead), "HTTP/1.1 400 ", ""},
		{"nothing", "", "", ""},
		{"SOCKS4", "\x04\x01\x01\xbb\xc6\x33\x64\x07x\x00", "HTTP/1.1 400 ", ""},

		{"SOCKS without a password", "\x05\x01\x00" + asks, "\x05\xff", none},
		{"SOCKS without methods", "\x05\x00" + asks, "\x05\xff", none},
		{"SOCKS by GSSAPI", "\x05\x02\x00\x01" + asks, "\x05\xff", none},
		{"SOCKS, which chooses no password although it could", "\x05\x02\x00\x02" + asks, "\x05\x02", ""},
		{"SOCKS with a wrong password", "\x05\x01\x02\x01" + text("jail") + text(password[:31]+"0") + asks, "\x05\x02\x01\x01", wrong},
		{"SOCKS with empty ones", "\x05\x01\x02\x01\x00\x00" + asks, "\x05\x02\x01\x01", wrong},
		{"SOCKS with 255 methods", "\x05\xff" + strings.Repeat("\x03", 255) + asks, "\x05\xff", none},
		{"SOCKS with long ones", "\x05\x01\x02\x01" + text(strings.Repeat("u", 255)) + text(strings.Repeat("p", 255)) + asks, "\x05\x02\x01\x01", wrong},
		{"SOCKS with a password of another version", "\x05\x01\x02\x05" + text("jail") + text(password) + asks, "\x05\x02", ""},
	} {
		got, answer, denied := converse(t, c.send)
		if got != nil || !strings.HasPrefix(answer, c.answer) || c.answer == "" && answer != "" || strings.Join(denied, "; ") != c.denied {
			t.Errorf("%s: %+v, %q, %q; want %q, %q", c.what, got, answer, denied, c.answer, c.denied)
		}
		if c.answer == "\x05\x02" && answer != c.answer {
			t.Errorf("%s: %q", c.what, answer)
		}
		if strings.Contains(answer, password) {
			t.Errorf("%s: the answer has the password: %q", c.what, answer)
		}
	}
}

// TestUnasked: a program that gives the password only after the proxy has asked is refused nothing.
func TestUnasked(t *testing.T) {
	var seen refusals
	f := New(password, seen.deny)
	f.admits("", "", false)
	if d := f.Unasked(); len(d) != 1 || d[0].Target != Target || d[0].Time.IsZero() || d[0].Count != 1 {
		t.Errorf("%+v", d)
	}
	if !f.admits("jail", password, true) || len(f.Unasked()) > 0 || len(seen) > 0 {
		t.Errorf("%+v, %q", f.Unasked(), seen)
	}
}

// TestAsked: what a client with the password asks for.
func TestAsked(t *testing.T) {
	auth, login := basic("jail:"+password), "\x05\x01\x02\x01\x04jail\x20"+password
	const in = "\x05\x02\x01\x00" // the answers to login
	for _, c := range []struct {
		what, send string
		want       string // HOST PORT REST, or the answer
		denied     string
	}{
		{"a tunnel", "CONNECT a.test:443 HTTP/1.1\r\n" + auth + "\r\n", "a.test 443 ", ""},
		{"bytes before the answer", "CONNECT a.test:443 HTTP/1.1\r\n" + auth + "\r\nmore", "a.test 443 more", ""},
		{"a second request before the answer", "CONNECT a.test:443 HTTP/1.1\r\n" + auth + "\r\nCONNECT b.test:443 HTTP/1.1\r\n\r\n", "a.test 443 CONNECT b.test:443 HTTP/1.1\r\n\r\n", ""},
		{"a URL", "GET http://a.test/ HTTP/1.1\r\n" + auth + "\r\nmore", "a.test 80 more", ""},
		{"the scheme in another case", "CONNECT a.test:443 HTTP/1.1\r\n" + strings.Replace(auth, "Basic", "bASIC", 1) + "\r\n", "a.test 443 ", ""},
		{"two lengths", "POST http://a.test/ HTTP/1.1\r\n" + auth + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 400", "a.test:80 ambiguous an HTTP request that is not strictly written"},
		{"a web server's", "GET / HTTP/1.1\r\n" + auth + "\r\n", "HTTP/1.1 400", ""},
		{"SOCKS", login + "\x05\x01\x00\x03\x06a.test\x01\xbbmore", "a.test 443 more", ""},
		{"SOCKS by IPv4", login + "\x05\x01\x00\x01\xc6\x33\x64\x07\x00\x50", "198.51.100.7 80 ", ""},
		{"SOCKS by IPv6", login + "\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01\x00\x50", "::1 80 ", ""},
		{"SOCKS by IPv4 in IPv6", login + "\x05\x01\x00\x04" + strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01\x00\x50", "127.0.0.1 80 ", ""},
		{"SOCKS with the longest name", login + "\x05\x01\x00\x03\xff" + strings.Repeat("a", 255) + "\x00\x50", strings.Repeat("a", 255) + " 80 ", ""},
		{"SOCKS with a NUL", login + "\x05\x01\x00\x03\x08a.test\x00x\x00\x50", "a.test\x00x 80 ", ""}, // policy.NormalizeTarget refuses it
		{"SOCKS without a name", login + "\x05\x01\x00\x03\x00\x00\x50", in + "\x05\x01", ""},
		{"SOCKS to port 0", login + "\x05\x01\x00\x03\x06a.test\x00\x00", in + "\x05\x01", ""},
		{"SOCKS to an address of another type", login + "\x05\x01\x00\x02\x06a.test\x00\x50", in + "\x05\x08", ""},
		{"SOCKS BIND", login + "\x05\x02\x00\x03\x06a.test\x00\x50", in + "\x05\x07", "a.test:80 unsupported " + socksCommands},
		{"SOCKS UDP ASSOCIATE", login + "\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", in + "\x05\x07", "0.0.0.0:0 unsupported " + socksCommands},
		{"SOCKS, an unknown command", login + "\x05\xf0\x00\x03\x06a.test\x00\x50", in + "\x05\x07", "a.test:80 unsupported " + socksCommands},
		{"SOCKS, another version after the login", login + "\x04\x01\x00\x03\x06a.test\x00\x50", in + "\x05\x01", ""},
		{"SOCKS, a reserved byte", login + "\x05\x01\x01\x03\x06a.test\x00\x50", in + "\x05\x01", ""},
		{"half a request", login + "\x05\x01\x00\x03\x06a.te", in, ""},
	} {
		client, answer, denied := converse(t, c.send)
		got := answer
		if client != nil {
			got = fmt.Sprintf("%s %d %s", client.Host, client.Port, client.Rest)
			if url := client.Request != nil; url != (c.what == "a URL") {
				t.Errorf("%s: it asks for a URL: %v", c.what, url)
			}
		} else if got = answer; strings.HasPrefix(got, c.want) && c.want != in {
			got = c.want
		}
		if got != c.want || c.denied != "" && !slices.Equal(denied, refusals{c.denied}) {
			t.Errorf("%s: %q, %q; want %q, %q", c.what, got, denied, c.want, c.denied)
		}
	}
}

// TestAnswer: how a client is told the decision.
func TestAnswer(t *testing.T) {
	no := &Error{Kind: Refused, Text: "a.test:443 is not granted\r\nX: y\u00e9"}
	for _, c := range []struct {
		send string
		err  *Error
		want string
	}{
		{"CONNECT a.test:443 HTTP/1.1\r\n", nil, "HTTP/1.1 200 Connection established\r\n\r\n"},
		{"CONNECT a.test:443 HTTP/1.1\r\n", no, "HTTP/1.1 403 mcp-jail: a.test:443 is not granted??X: y?\r\nContent-Type: text/plain\r\nContent-Length: 43\r\nConnection: close\r\nProxy-Connection: close\r\n\r\nmcp-jail: a.test:443 is not granted??X: y?\n"},
		{"CONNECT a.test:443 HTTP/1.1\r\n", &Error{Kind: Unreachable, Text: "x"}, "HTTP/1.1 502 mcp-jail: x\r\nContent-Type: text/plain\r\nContent-Length: 12\r\nConnection: close\r\nProxy-Connection: close\r\n\r\nmcp-jail: x\n"},
		{"GET http://a.test/ HTTP/1.1\r\n", &Error{Kind: TimedOut, Text: "x"}, "HTTP/1.1 504 mcp-jail: x\r\nContent-Type: text/plain\r\nContent-Length: 12\r\nConnection: close\r\nProxy-Connection: close\r\n\r\nmcp-jail: x\n"},
		{"GET http://a.test/ HTTP/1.1\r\n", nil, ""},
		{"", nil, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"},
		{"", no, "\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"},
		{"", &Error{Kind: Unreachable}, "\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00"},
	} {
		send := c.send + basic("jail:"+password) + "\r\n"
		if c.send == "" {
			send = "\x05\x01\x02\x01\x04jail\x20" + password + "\x05\x01\x00\x03\x06a.test\x01\xbb"
		}
		client, server := pair(t)
		io.WriteString(client, send)
		asked := New(password, nil).Greet(context.Background(), server)
		if asked == nil {
			t.Fatalf("%q is not read", send)
		}
		client.CloseWrite()
		asked.Answer(c.err)
		server.Close()
		b, err := io.ReadAll(client)
		if got := strings.TrimPrefix(string(b), "\x05\x02\x01\x00"); got != c.want || err != nil {
			t.Errorf("%q, %v: %q, %v; want %q", c.send, c.err, got, err, c.want)
		}
	}
}

// TestAnswerArrives: a client that still sends gets the answer and no reset in its place.
func TestAnswerArrives(t *testing.T) {
	client, server := pair(t)
	go io.WriteString(client, "POST http://a.test/ HTTP/1.1\r\nContent-Length: 500000\r\n\r\n"+strings.Repeat("x", 500000))
	if New(password, nil).Greet(context.Background(), server) != nil {
		t.Fatal("it got in")
	}
	if b, err := io.ReadAll(client); err != nil || !bytes.Contains(b, []byte(" 407 ")) {
		t.Errorf("%q, %v", b, err)
	}
}

// TestWaiting: clients that say nothing keep no other client out, and end with the session.
func TestWaiting(t *testing.T) {
	f := New(password, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan int, 2*maxWaiting)
	var clients []*net.TCPConn
	wait := func() {
		client, server := pair(t)
		n := len(clients)
		clients = append(clients, client)
		go func() {
			if f.Greet(ctx, server) != nil {
				panic("a client that said nothing")
			}
			ended <- n
		}()
		testkit.Eventually(t, "the client waits", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.waiting) == min(n+1, maxWaiting)
		})
	}
	for range maxWaiting + 1 {
		wait()
	}
	if n := <-ended; n != 0 {
		t.Errorf("client %d had to go, want the oldest", n)
	}
	client, server := pair(t)
	io.WriteString(client, "CONNECT a.test:443 HTTP/1.1\r\n"+basic("jail:"+password)+"\r\n")
	if f.Greet(ctx, server) == nil {
		t.Error("a client with the password does not get in")
	}
	cancel()
	for range maxWaiting {
		<-ended
	}
	if len(f.waiting) > 0 {
		t.Errorf("%d clients wait after the end", len(f.waiting))
	}
}

// FuzzFront: no bytes get in without the password, and with it a client is read the same however its
// bytes are split.
func FuzzFront(f *testing.F) {
	login := "\x05\x01\x02\x01\x04jail\x20" + password
	f.Add([]byte(login + "\x05\x01\x00\x03\x06a.test\x01\xbbmore"))
	f.Add([]byte(login + "\x05\x03\x00\x04" + strings.Repeat("\x00", 18)))
	f.Add([]byte("\x05\x02\x00\x02\x01\x04jail\x01x"))
	f.Add([]byte("CONNECT a.test:443 HTTP/1.1\r\n" + basic("jail:"+password) + "\r\nmore"))
	f.Add([]byte("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n" + basic("jail:x") + "\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(r io.Reader) string {
			c := &Client{Conn: &net.TCPConn{}} // writes to it fail
			buffer := bufio.NewReaderSize(r, maxHead)
			if !New(password, func(string, int, policy.DenialReason, string) {}).greet(buffer, c) {
				return ""
			}
			return fmt.Sprintf("%q %d %v", c.Host, c.Port, c.Request != nil)
		}
		whole := read(bytes.NewReader(b))
		if bytewise := read(&slow{bytes.NewReader(b)}); bytewise != whole {
			t.Errorf("%q: %q, and byte by byte %q", b, whole, bytewise)
		}
		given := bytes.Contains(b, []byte(password)) || bytes.Contains(b, []byte("Basic")) || bytes.Contains(bytes.ToLower(b), []byte("basic"))
		if whole != "" && !given {
			t.Errorf("%q gets in: %s", b, whole)
		}
	})
}

// slow returns one byte at a time.
type slow struct{ io.Reader }

func (s *slow) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, errors.New("a read of nothing")
	}
	return s.Reader.Read(b[:1])
}
