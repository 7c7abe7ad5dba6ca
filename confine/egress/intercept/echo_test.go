package intercept

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// guarded is a value that is hidden in responses. token is too short.
const guarded = "ghp_q7Zr41bc9Xw2/+LrW4aZb8"

// echoing is an upstream that sends back what a request has, in the way that its path names.
func echoing(w http.ResponseWriter, r *http.Request) {
	value := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch r.URL.Path {
	case "/plain":
		io.WriteString(w, "you sent "+value+".")
	case "/late": // by another request, without the value
		io.WriteString(w, guarded)
	case "/JSON":
		json.NewEncoder(w).Encode(r.Header)
	case "/basic":
		io.WriteString(w, base64.StdEncoding.EncodeToString([]byte("user:"+value)))
	case "/query":
		io.WriteString(w, url.QueryEscape(value))
	case "/pieces":
		for _, c := range value {
			io.WriteString(w, string(c))
			http.NewResponseController(w).Flush()
		}
	case "/field":
		w.Header()["X-Echo"] = []string{"a", value}
		w.Header()["Location"] = []string{"/?t=" + url.QueryEscape(value)}
	case "/trailer":
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.Header().Set("X-Sum", value)
		w.Header().Set(http.TrailerPrefix+"X-Late", value)
	case "/hint":
		w.Header().Set("Link", value)
		w.WriteHeader(103)
		w.Header().Del("Link")
	case "/gzip":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "you sent "+value)
		z.Close()
	default:
		http.NotFound(w, r)
	}
}

// TestEcho tests that a value is hidden wherever a host sends it back. The control: a value that can
// be guessed is not, so each of these shows it.
func TestEcho(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		if kind == "http" {
			return // no value is sent in the open
		}
		s := serve(t, kind, echoing)
		for _, value := range []string{guarded, token} {
			w := newWorld(t, s, Options{Rules: []policy.NetRule{withSecret("T"), under("/late")}, Secrets: map[string]string{"T": value}})
			c := w.client(t, http2)
			for _, path := range []string{"plain", "late", "JSON", "basic", "query", "pieces", "field", "trailer", "hint", "gzip"} {
				var hints strings.Builder
				res, body := do(t, c, "GET", w.url("/"+path), func(r *http.Request) {
					r.Header.Set("Authorization", "Bearer "+policy.Placeholder("T"))
					r.Header.Set("Accept-Encoding", "br, gzip;q=0.5")
					*r = *r.WithContext(httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
						fmt.Fprint(&hints, h)
						return nil
					}}))
				})
				if res.Header.Get("Content-Encoding") == "gzip" { // of the control
					z := testkit.Get(gzip.NewReader(strings.NewReader(body)))(t)
					plain, _ := io.ReadAll(z)
					body = string(plain)
				}
				all := fmt.Sprint(res.Header, body, res.Trailer, hints.String())
				shown := false
				for _, text := range []string{value, url.QueryEscape(value), base64.StdEncoding.EncodeToString([]byte("user:" + value))[8:16]} {
					shown = shown || strings.Contains(all, text)
				}
				want := value == token && path != "late"
				if res.StatusCode != 200 || shown != want || value == guarded && !strings.Contains(all, strings.Repeat("*", len(value))) {
					t.Errorf("%s: status %d, shown: %v\n%s", path, res.StatusCode, shown, all)
				}
			}
		}
	})
}

// TestEchoUnreadable tests that a response that could not be searched is not asked for, and is
// refused. The control: a host without a secret gets and sends what it likes.
func TestEchoUnreadable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		var got http.Header
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header
			w.Header().Set(r.URL.Query().Get("field"), r.URL.Query().Get("coding"))
			io.WriteString(w, "x")
		})
		for _, rule := range []policy.NetRule{withSecret("T"), only("GET")} {
			guards := rule.Secrets != nil
			w := newWorld(t, s, Options{Rules: []policy.NetRule{rule}, Secrets: map[string]string{"T": guarded}})
			c := w.client(t, http2)
			for coding, passes := range map[string]bool{
				"Content-Encoding=br": false, "Content-Encoding=gzip, br": false, "Content-Encoding=zstd": false, "Content-Encoding=deflate": false,
				"Grpc-Encoding=gzip": false, "Content-Encoding=identity": true, "Grpc-Encoding=identity": true, "X-Encoding=br": true,
				"Content-Type=text/plain; charset=UTF-16": false, `Content-Type=text/plain; a=b; Charset="utf-32le"`: false, "Content-Type=text/plain;charset=utf-8;charset=IBM037": false, "Content-Type=a/b;charset=UTF-7": false,
				"Content-Type=text/plain; charset=UTF-8": true, "Content-Type=a/b;charset=iso-8859-1": true, "Content-Type=a/b;charset=": true, "Content-Type=charset": true,
			} {
				field, name, _ := strings.Cut(coding, "=")
				res, body := do(t, c, "GET", w.url("/?field="+field+"&coding="+url.QueryEscape(name)), func(r *http.Request) {
					r.Header.Set("Accept-Encoding", "gzip;q=0, deflate, br")
					r.Header.Set("Range", "bytes=0-3")
					r.Header.Set("Grpc-Accept-Encoding", "gzip")
				})
				if passes = passes || !guards; passes != (res.StatusCode == 200) || !passes && (res.StatusCode != 502 || field != "Content-Type" && !strings.Contains(body, field+": "+name) || field == "Content-Type" && !strings.Contains(body, "ask for UTF-8")) {
					t.Errorf("%s: %d %s", coding, res.StatusCode, body)
				}
				want := "gzip;q=0, deflate, br bytes=0-3 gzip"
				if guards {
					want = "identity  "
				}
				if asked := got.Get("Accept-Encoding") + " " + got.Get("Range") + " " + got.Get("Grpc-Accept-Encoding"); asked != want {
					t.Errorf("%s: asked for %q, want %q", coding, asked, want)
				}
			}
		}
	})
	for accepted, want := range map[string]string{"gzip": "gzip", "br,GZIP;q=0.1": "gzip", "x-gzip": "gzip", "gzip; q=0.0": "identity", "": "identity", "br": "identity", "*": "identity"} {
		testkit.Equal(t, accepted, acceptable(accepted), want)
	}
}

// TestEchoParts tests that mcp-jail-tls removes each field by which a request asks for a part of a
// response. Fields about the body of the request, and about what the host copies, stay. The control: so
// does each field for a host without a secret.
func TestEchoParts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		var got http.Header
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) { got = r.Header })
		for _, rule := range []policy.NetRule{withSecret("T"), only("GET")} {
			w := newWorld(t, s, Options{Rules: []policy.NetRule{rule}, Secrets: map[string]string{"T": guarded}})
			c := w.client(t, http2)
			for name, asks := range map[string]bool{
				"Range": true, "If-Range": true, "Request-Range": true, "X-Ms-Range": true, "x_range": true, "X-Goog-Range": true,
				"Content-Range": false, "X-Content-Range": false, "X-Amz-Copy-Source-Range": false, "X-Ms-Source-Range": false, "Range-Unit": false, "X-Orange": false,
			} {
				do(t, c, "GET", w.url("/"), func(r *http.Request) { r.Header[name] = []string{"bytes=0-3"} })
				if sent := strings.Contains(fmt.Sprint(got), "bytes=0-3"); sent == (asks && rule.Secrets != nil) {
					t.Errorf("%s: sent: %v", name, sent)
				}
			}
		}
	})
}

// TestEchoWide tests that a response that begins with the mark of UTF-16 or UTF-32 ends there, in
// whatever pieces it comes. The controls: it does not for a host without a secret, and no other
// response does.
func TestEchoWide(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		body, piece := "", 0
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "a/b") // net/http would name the charset
			for part := range slices.Chunk([]byte(body), piece) {
				w.Write(part)
				http.NewResponseController(w).Flush()
			}
		})
		for _, rule := range []policy.NetRule{withSecret("T"), only("GET")} {
			w := newWorld(t, s, Options{Rules: []policy.NetRule{rule}, Secrets: map[string]string{"T": guarded}})
			c := w.client(t, http2)
			for text, wide := range map[string]bool{
				"\xff\xfeg\x00h\x00p\x00": true, "\xfe\xff\x00g\x00h\x00p": true, "\xff\xfe\x00\x00g\x00\x00\x00": true, "\x00\x00\xfe\xff\x00\x00\x00g": true,
				"\xef\xbb\xbfghp": false, "ghp\xff\xfe": false, "\xff": false, "\x00\x00\xfe": false, "\xff\xfb\x90": false,
			} {
				for _, piece = range []int{1, 3, 8} {
					body = text
					res, err := c.Get(w.url("/"))
					var all []byte
					if err == nil {
						all, err = io.ReadAll(res.Body)
						res.Body.Close()
					}
					if ended := err != nil; ended != (wide && rule.Secrets != nil) || !ended && string(all) != text || ended && strings.Contains(string(all), "g") {
						t.Errorf("%q in pieces of %d: %q, %v", text, piece, all, err)
					}
				}
			}
		}
	})
}

// TestEchoStreams tests that lines, and messages of gRPC, arrive while the response goes on, and that
// a message with a value that was passed on in part ends the response.
func TestEchoStreams(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		for _, c := range []struct{ kind, first, second string }{
			{"text/event-stream", "data: 1\n\n", "data: " + guarded + "\n\n"},
			{"application/grpc", "\x00\x00\x00\x00\x04abcd", "\x00\x00\x00\x00\x1a" + guarded},
			{"application/grpc", guarded[:20], guarded[20:]},
		} {
			goOn := make(chan struct{})
			s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				io.WriteString(w, c.first)
				http.NewResponseController(w).Flush()
				<-goOn
				io.WriteString(w, c.second)
			})
			w := newWorld(t, s, Options{Rules: []policy.NetRule{withSecret("T")}, Secrets: map[string]string{"T": guarded}})
			res := testkit.Get(w.client(t, http2).Get(w.url("/")))(t)
			first := make([]byte, len(c.first))
			if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != c.first {
				t.Fatalf("%s: %q, %v", c.kind, first, err)
			}
			close(goOn)
			rest, err := io.ReadAll(res.Body)
			res.Body.Close()
			split := c.first == guarded[:20]
			if want := strings.ReplaceAll(c.second, guarded, strings.Repeat("*", len(guarded))); split != (err != nil) || !split && string(rest) != want || split && len(rest) > 0 {
				t.Errorf("%s: %q, %v", c.kind, rest, err)
			}
		}
	})
}

// TestEchoWebSocket tests that a value is hidden in what a WebSocket sends, and in the answer that
// opens it, and that no compression is agreed on.
func TestEchoWebSocket(t *testing.T) {
	t.Parallel()
	s := serve(t, "https", func(_ http.ResponseWriter, r *http.Request) {})
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Echo: "+guarded+r.Header.Get("Sec-WebSocket-Extensions")+"\r\n\r\n")
		io.WriteString(c, "\x81\x1a"+guarded)
	})
	w := newWorld(t, s, Options{Rules: []policy.NetRule{withSecret("T")}, Secrets: map[string]string{"T": guarded}})
	c := w.connect(t)
	io.WriteString(c, "GET /ws HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n")
	got, _ := io.ReadAll(bufio.NewReader(c))
	stars := strings.Repeat("*", len(guarded))
	if !bytes.Contains(got, []byte("X-Echo: "+stars+"\r\n")) || !bytes.HasSuffix(got, []byte("\r\n\r\n\x81\x1a"+stars)) {
		t.Errorf("%q", got)
	}
}
