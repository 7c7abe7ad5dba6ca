package front

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestParseProxyHead: what a proxy is asked for, and the head that it sends on. A request that two
// servers could read in two ways is none.
func TestParseProxyHead(t *testing.T) {
	for _, row := range testkit.Rows(t, "proxy_heads.txt", 2) {
		head, want := row[0], row[1]
		r, n, err := parseProxyHead([]byte(head))
		got := ""
		switch {
		case err != nil:
		case r.Connect:
			got = fmt.Sprintf("CONNECT %s %d", r.Host, r.Port)
		case r.TLS:
			got = fmt.Sprintf("TLS %s %d", r.Host, r.Port)
		default:
			got = string(r.Head(false))
		}
		if got != want || err == nil && n != strings.Index(head, "\r\n\r\n")+4 {
			t.Errorf("%q:\n%q, want\n%q; %d, %v", head, got, want, n, err)
		}
	}
}

// TestProxyHeadHost: the Host field of the client goes on where the caller says that it may.
func TestProxyHeadHost(t *testing.T) {
	for head, want := range map[string]string{
		"GET http://a.test/ HTTP/1.1\r\nHost: b.test:1\r\n\r\n": "b.test:1",
		"GET http://a.test/ HTTP/1.1\r\n\r\n":                   "a.test",
	} {
		r, _, err := parseProxyHead([]byte(head))
		if got := string(r.Head(true)); err != nil || got != "GET / HTTP/1.1\r\nHost: "+want+"\r\nConnection: close\r\n\r\n" {
			t.Errorf("%q: %q, %v", head, got, err)
		}
	}
}

// FuzzProxyHead: what is read of a request is what net/http reads of it, and the head that is sent on is
// one request for the same host, path and body, as ParseHead and net/http read it.
func FuzzProxyHead(f *testing.F) {
	f.Add([]byte("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nProxy-Authorization: Basic eA==\r\n\r\n"))
	f.Add([]byte("GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nConnection: x\r\nX: y\r\nProxy-Connection: keep-alive\r\n\r\n"))
	f.Add([]byte("POST http://[::1]:8080/ HTTP/1.1\r\nHost: b.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("PUT HTTP://A.test:80?q HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		head, r, err := ReadHead(bufio.NewReaderSize(bytes.NewReader(b), 32<<10), parseProxyHead)
		if err != nil {
			return
		}
		if r.Port < 1 || r.Port > 65535 || r.Host == "" || strings.ContainsAny(r.Host, "/@ \t\r\n[]") {
			t.Errorf("%q: the host %q, port %d", head, r.Host, r.Port)
		}
		theirs, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err == nil && theirs.URL.Port() != "" && theirs.URL.Port() != strconv.Itoa(r.Port) && strings.TrimLeft(theirs.URL.Port(), "0") != strconv.Itoa(r.Port) {
			t.Errorf("%q: port %d here, %s there", head, r.Port, theirs.URL.Port())
		}
		if err == nil && !strings.EqualFold(theirs.URL.Hostname(), r.Host) {
			t.Errorf("%q: %q here, %q there", head, r.Host, theirs.URL.Hostname())
		}
		if r.Connect {
			return
		}
		sent := r.Head(false)
		again, n, err := ParseHead(sent)
		if err != nil || n != len(sent) || again.Length != r.Length || again.Chunked != r.Chunked || again.WebSocket {
			t.Fatalf("%q becomes %q: %+v, %d, %v", head, sent, again, n, err)
		}
		if bytes.Contains(bytes.ToLower(sent), []byte("\nproxy-")) {
			t.Errorf("%q becomes %q", head, sent)
		}
		if len(again.Hosts) != 1 || again.Hosts[0] != r.Hosts[0] {
			t.Errorf("%q becomes %q, for %q", head, sent, again.Hosts)
		}
		if theirs == nil {
			return
		}
		if final, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent))); err != nil || final.ContentLength != theirs.ContentLength || !final.Close || final.URL.RawQuery != theirs.URL.RawQuery {
			t.Errorf("%q becomes %q, which net/http reads as %+v, %v", head, sent, final, err)
		}
	})
}
