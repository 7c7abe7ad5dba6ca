package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
)

// registry serves the user's npm registry on loopback. It keeps each answer, and counts the
// bytes that it receives.
type registry struct {
	url      string
	upstream string
	received atomic.Int64

	server *http.Server
	served chan error
	mu     sync.Mutex
	kept   map[string]answer
}

// answer is what the user's registry has answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func newRegistry(ctx context.Context) (*registry, error) {
	out, err := exec.CommandContext(ctx, "npm", "config", "get", "registry").Output()
	if err != nil {
		return nil, fmt.Errorf("npm config get registry: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &registry{
		url: "http://" + l.Addr().String(), upstream: strings.TrimSuffix(strings.TrimSpace(string(out)), "/"),
		served: make(chan error, 1), kept: map[string]answer{},
	}
	r.server = &http.Server{Handler: r}
	go func() { r.served <- r.server.Serve(countingListener{l, &r.received}) }()
	return r, nil
}

func (r *registry) close() {
	r.server.Close()
	<-r.served
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet { // of npm's audit
		io.WriteString(w, "{}")
		return
	}
	a, err := r.get(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	for _, name := range []string{"Content-Type", "Etag", "Cache-Control"} {
		if v := a.header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	if tag := a.header.Get("Etag"); tag != "" && req.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(a.status)
	w.Write(a.body)
}

// get returns the answer to a request. The addresses of archives in it lead to this registry.
func (r *registry) get(req *http.Request) (answer, error) {
	key := req.URL.RequestURI() + " " + req.Header.Get("Accept")
	r.mu.Lock()
	a, ok := r.kept[key]
	r.mu.Unlock()
	if ok {
		return a, nil
	}
	up, err := http.NewRequestWithContext(req.Context(), http.MethodGet, r.upstream+req.URL.RequestURI(), nil)
	if err != nil {
		return a, err
	}
	up.Header.Set("Accept", req.Header.Get("Accept"))
	resp, err := http.DefaultClient.Do(up)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a.status, a.header = resp.StatusCode, resp.Header
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	if strings.Contains(a.header.Get("Content-Type"), "json") {
		a.body = bytes.ReplaceAll(a.body, []byte(`"`+r.upstream+"/"), []byte(`"`+r.url+"/"))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[key] = a
	return a, nil
}

// countingListener counts what its connections receive.
type countingListener struct {
	net.Listener
	received *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c, l.received}, nil
}

type countingConn struct {
	net.Conn
	received *atomic.Int64
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}
