package intercept

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStream: each piece of an answer arrives when it is sent, and an end on one side
// is one on the other.
func TestStream(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		next, over := make(chan string), make(chan struct{})
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			defer close(over)
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Content-Length", "1000") // nothing by which net/http would know a stream
			w.WriteHeader(200)
			http.NewResponseController(w).Flush()
			for {
				select {
				case text := <-next:
					fmt.Fprintf(w, "data: %s\n\n", text)
					http.NewResponseController(w).Flush()
				case <-r.Context().Done():
					return
				}
			}
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("GET")}})
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "GET", w.url("/events"), nil)
		res := testkit.Get(w.client(t, http2).Do(r))(t)
		defer res.Body.Close()
		lines := bufio.NewReader(res.Body)
		for _, text := range []string{"one", "two", "three"} {
			next <- text // the one before has arrived
			line, err := lines.ReadString('\n')
			if err != nil || line != "data: "+text+"\n" {
				t.Fatalf("%q, %v", line, err)
			}
			lines.ReadString('\n')
		}
		cancel()
		<-over
	})
}

// TestUpload: a large body arrives whole, whether its length is known or not, and its
// bytes are counted.
func TestUpload(t *testing.T) {
	t.Parallel()
	size := testkit.Rounds(4, 50) << 20
	body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	sum := sha256.Sum256(body)
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			h := sha256.New()
			n, err := io.Copy(h, r.Body)
			fmt.Fprintf(w, "%d %v %x %v", n, err, h.Sum(nil), r.Trailer.Get("X-After"))
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("PUT")}})
		c := w.client(t, http2)
		for _, known := range []bool{true, false, true} {
			want := fmt.Sprintf("%d <nil> %x ", size, sum)
			res, got := do(t, c, "PUT", w.url("/"), func(r *http.Request) {
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(size)
				r.Header.Set("Expect", "100-continue")
				if !known {
					r.ContentLength = -1
					r.Trailer = http.Header{"X-After": {"the end"}}
					want += "the end"
				}
			})
			if res.StatusCode != 200 || got != want {
				t.Fatalf("known %v: %d %s, not %s", known, res.StatusCode, got, want)
			}
		}
		c.CloseIdleConnections()
	})
}

// TestEarlyAnswer: an upstream that answers without having read the body costs at most
// its connection, not that of the jail.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "early") })
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("POST")}})
		c := w.client(t, http2)
		for i := range 200 {
			_, body := do(t, c, "POST", w.url("/"), func(r *http.Request) {
				n := i % 20
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", n))), int64(n)
			})
			testkit.MustEqual(t, "", body, "early")
		}
	})
}

// TestLateBody: an answer does not wait for the rest of a body, and says that it is the
// last one on its connection.
func TestLateBody(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"http", "https"} {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).EnableFullDuplex()
			io.WriteString(w, "early")
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("POST")}})
		c := w.connect(t)
		c.SetDeadline(time.Now().Add(testkit.Patience))
		io.WriteString(c, "POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 10\r\n\r\n01")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if body, err := io.ReadAll(res.Body); string(body) != "early" || err != nil || !res.Close {
			t.Errorf("%s: %q %v, the last one: %v", kind, body, err, res.Close)
		}
		io.WriteString(c, "23456789")
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("%s: then %d %v", kind, n, err)
		}
	}
}

// TestConversation: request and answer can be streams at the same time.
func TestConversation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string, http2 bool, _ string) {
		s := serve(t, kind, func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			control.EnableFullDuplex()
			w.WriteHeader(200)
			control.Flush()
			buf := make([]byte, 100)
			for {
				n, err := r.Body.Read(buf)
				w.Write(buf[:n])
				control.Flush()
				if err != nil {
					return
				}
			}
		})
		w := newWorld(t, s, Options{Rules: []policy.NetRule{only("POST")}})
		out, in := io.Pipe()
		r, _ := http.NewRequest("POST", w.url("/"), out)
		res := testkit.Get(w.client(t, http2).Do(r))(t)
		defer res.Body.Close()
		for _, text := range []string{"one", "two", "three"} {
			io.WriteString(in, text)
			got := make([]byte, len(text))
			if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != text {
				t.Fatalf("%q %v", got, err)
			}
		}
		in.Close()
		testkit.Empty(t, "", testkit.Get(io.ReadAll(res.Body))(t))
	})
}
