package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
)

const (
	sessionHeader = "Mcp-Session-Id"
	keyVersion    = "io.modelcontextprotocol/protocolVersion"
	keySubscribed = "io.modelcontextprotocol/subscriptionId"
	methodListen  = "subscriptions/listen"
)

// message has the members of a message that decide where it goes.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProgressToken json.RawMessage            `json:"progressToken"`
		Meta          map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
}

func (m *message) request() bool { return m.Method != "" && m.ID != nil }

// bridge has the processes of all sessions.
type bridge struct {
	argv []string

	mu       sync.Mutex
	sessions map[string]*peer
	modern   *peer
}

func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Refuse pages of other origins: DNS rebinding lets them reach a local server
	// (2025-11-25, "Transports, Security Warning").
	if !local(r.Host) || r.Header.Get("Origin") != "" && !localOrigin(r.Header.Get("Origin")) {
		http.Error(w, "not a local host", http.StatusForbidden)
		return
	}
	p := b.session(r.Header.Get(sessionHeader))
	switch r.Method {
	case http.MethodPost:
		b.post(w, r, p)
	case http.MethodGet:
		if p == nil {
			http.Error(w, "no session", http.StatusMethodNotAllowed)
			return
		}
		p.stream(w, r, p.listen())
	case http.MethodDelete:
		if p == nil {
			http.Error(w, "no session", http.StatusNotFound)
			return
		}
		b.forget(r.Header.Get(sessionHeader))
		p.end()
	default:
		http.Error(w, "no such method", http.StatusMethodNotAllowed)
	}
}

func (b *bridge) post(w http.ResponseWriter, r *http.Request, p *peer) {
	body, err := io.ReadAll(r.Body)
	var m message
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, http.StatusBadRequest)
		return
	}
	modern := m.Params.Meta[keyVersion] != nil || r.Header.Get("MCP-Protocol-Version") == "2026-07-28"
	switch {
	case p != nil:
	case r.Header.Get(sessionHeader) != "":
		http.Error(w, "no such session", http.StatusNotFound)
		return
	case modern:
		p, err = b.stateless()
	case m.Method == "initialize":
		var id string
		if id, p, err = b.open(); err == nil {
			w.Header().Set(sessionHeader, id)
		}
	default:
		http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no session"}}`, http.StatusBadRequest)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if !m.request() {
		if err := p.send(body); err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	c, err := p.ask(&m, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	p.stream(w, r, c)
}

func (b *bridge) session(id string) *peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions[id]
}

func (b *bridge) forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sessions, id)
}

// open starts a process for a legacy session.
func (b *bridge) open() (id string, p *peer, err error) {
	if p, err = start(b.argv, false); err != nil {
		return "", nil, err
	}
	id = rand.Text()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions[id] = p
	return id, p, nil
}

// stateless returns the process for requests without a session.
func (b *bridge) stateless() (p *peer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.modern == nil {
		b.modern, err = start(b.argv, true)
	}
	return b.modern, err
}

func (b *bridge) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range b.sessions {
		all.Go(p.end)
	}
	if b.modern != nil {
		all.Go(b.modern.end)
	}
	all.Wait()
}

func local(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return name == "localhost" || name == "127.0.0.1"
}

func localOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && local(u.Host)
}

// event writes one message to an event stream.
func event(w http.ResponseWriter, line []byte) error {
	if _, err := fmt.Fprintf(w, "event: message\ndata: %s\n\n", line); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
