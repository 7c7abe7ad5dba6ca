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
	"regexp"
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
	c := testkit.Get(net.Dial("tcp", listeners[0].Addr().String()))(t)
	s := testkit.Get(listeners[0].AcceptTCP())(t)
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
	b := testkit.Get(io.ReadAll(client))(t)
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
	fill := strings.NewReplacer("$WRONG", ":0 unsupported a program gave a wrong password", "$NONE", "none: a program gave no password, though HTTPS_PROXY has one",
		"$ASKS", "\x05\x01\x00\x03\x06a.test\x01\xbb", "$LONG", strings.Repeat("x", maxHead))
	credentials := regexp.MustCompile(`\$BASIC\(([^)]*)\)`)
	for _, row := range testkit.Rows(t, "passwords.txt", 4) {
		what, wantAnswer, wantDenied := row[0], row[2], fill.Replace(row[3])
		send := credentials.ReplaceAllStringFunc(fill.Replace(row[1]), func(s string) string { return basic(credentials.FindStringSubmatch(s)[1]) })
		got, answer, denied := converse(t, send)
		if got != nil || !strings.HasPrefix(answer, wantAnswer) || wantAnswer == "" && answer != "" || strings.Join(denied, "; ") != wantDenied {
			t.Errorf("%s: %+v, %q, %q; want %q, %q", what, got, answer, denied, wantAnswer, wantDenied)
		}
		if wantAnswer == "\x05\x02" && answer != wantAnswer {
			t.Errorf("%s: %q", what, answer)
		}
		if strings.Contains(answer, password) {
			t.Errorf("%s: the answer has the password: %q", what, answer)
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
	const in = "\x05\x02\x01\x00" // the answers to a login
	fill := strings.NewReplacer("$AUTH", basic("jail:"+password), "$LOGIN", "\x05\x01\x02\x01\x04jail\x20"+password, "$IN", in, "$COMMANDS", socksCommands)
	for _, row := range testkit.Rows(t, "asked.txt", 4) {
		what, send, want, wantDenied := row[0], fill.Replace(row[1]), fill.Replace(row[2]), fill.Replace(row[3])
		client, answer, denied := converse(t, send)
		got := answer
		if client != nil {
			got = fmt.Sprintf("%s %d %s", client.Host, client.Port, client.Rest)
			testkit.Equal(t, fmt.Sprintf("%s: it asks for a URL", what), client.Request != nil, (what == "a URL"))
		} else if got = answer; strings.HasPrefix(got, want) && want != in {
			got = want
		}
		if got != want || wantDenied != "" && !slices.Equal(denied, refusals{wantDenied}) {
			t.Errorf("%s: %q, %q; want %q, %q", what, got, denied, want, wantDenied)
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
	testkit.Equal(t, "client … had to go must go", <-ended, 0)
	client, server := pair(t)
	io.WriteString(client, "CONNECT a.test:443 HTTP/1.1\r\n"+basic("jail:"+password)+"\r\n")
	if f.Greet(ctx, server) == nil {
		t.Error("a client with the password does not get in")
	}
	cancel()
	for range maxWaiting {
		<-ended
	}
	testkit.Empty(t, fmt.Sprintf("%d clients wait after the end", len(f.waiting)), f.waiting)
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
		testkit.Equal(t, fmt.Sprintf("%q: …, and byte by byte", b), read(&slow{bytes.NewReader(b)}), whole)
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
