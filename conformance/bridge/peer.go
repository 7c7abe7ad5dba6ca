package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A peer is a process that speaks MCP on its standard input and output.
type peer struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	shared bool // by several clients: their ids may collide, so they are replaced
	ended  chan struct{}

	mu    sync.Mutex
	last  int
	calls []*call // waiting for an answer, oldest first; the first may be a listener
}

// A call is a stream of messages to a client, until an answer or while the client listens.
type call struct {
	id     json.RawMessage // the client's; nil for a listener
	sent   json.RawMessage // the id that the server gets
	method string
	token  json.RawMessage
	lines  chan []byte // closed after the answer
}

// roomy is more than the messages of any scenario on one stream.
const roomy = 10_000

func start(argv []string, shared bool) (*peer, error) {
	p := &peer{cmd: exec.Command(argv[0], argv[1:]...), shared: shared, ended: make(chan struct{})}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		p.in, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	go p.read(out)
	return p, nil
}

// send writes one line.
func (p *peer) send(body []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, body); err != nil {
		return err
	}
	line.WriteByte('\n')
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.in.Write(line.Bytes())
	return err
}

// ask sends a request, and returns the call that gets its answer.
func (p *peer) ask(m *message, body []byte) (*call, error) {
	c := &call{id: m.ID, sent: m.ID, method: m.Method, token: m.Params.Meta["progressToken"], lines: make(chan []byte, roomy)}
	p.mu.Lock()
	if p.shared {
		p.last++
		c.sent = fmt.Appendf(nil, "%d", p.last)
		body = with(body, "id", c.sent)
	}
	p.calls = append(p.calls, c)
	p.mu.Unlock()
	if err := p.send(body); err != nil {
		p.drop(c)
		return nil, err
	}
	return c, nil
}

// listen returns a call that gets the messages that belong to no request.
func (p *peer) listen() *call {
	c := &call{lines: make(chan []byte, roomy)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append([]*call{c}, p.calls...)
	return c
}

func (p *peer) drop(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = slices.DeleteFunc(p.calls, func(other *call) bool { return other == c })
}

// with replaces a member of an object.
func with(object []byte, name string, value json.RawMessage) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return object
	}
	members[name] = value
	b, err := json.Marshal(members)
	if err != nil {
		panic(err) // it was JSON
	}
	return b
}

// read distributes the messages of the process to the calls.
func (p *peer) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var m message
		if line = bytes.TrimSpace(line); json.Unmarshal(line, &m) == nil {
			p.route(&m, line)
		}
	}
	p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		close(c.lines)
	}
	p.calls = nil
	close(p.ended)
}

func (p *peer) route(m *message, line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Method == "" {
		i := slices.IndexFunc(p.calls, func(c *call) bool { return c.id != nil && bytes.Equal(c.sent, m.ID) })
		if i < 0 {
			return
		}
		c := p.calls[i]
		p.calls = slices.Delete(p.calls, i, i+1)
		if p.shared {
			line = with(line, "id", c.id)
		}
		c.lines <- line
		close(c.lines)
		return
	}
	if subscription := m.Params.Meta[keySubscribed]; subscription != nil {
		for _, c := range p.calls {
			if bytes.Equal(c.sent, subscription) {
				c.lines <- p.renamed(line, m, c)
			}
		}
		return
	}
	if c := p.likeliest(m); c != nil {
		c.lines <- line
	}
}

// renamed puts the id of the client into a notification of a subscription.
func (p *peer) renamed(line []byte, m *message, c *call) []byte {
	if !p.shared {
		return line
	}
	var whole struct{ Params json.RawMessage }
	if json.Unmarshal(line, &whole) != nil {
		return line
	}
	m.Params.Meta[keySubscribed] = c.id
	meta, err := json.Marshal(m.Params.Meta)
	if err != nil {
		return line
	}
	return with(line, "params", with(whole.Params, "_meta", meta))
}

// likeliest returns the stream for a message that names no request: that with the same
// progress token, else of the latest request, else of a listener.
func (p *peer) likeliest(m *message) *call {
	for _, c := range slices.Backward(p.calls) {
		if m.Params.ProgressToken != nil && bytes.Equal(c.token, m.Params.ProgressToken) {
			return c
		}
	}
	for _, c := range slices.Backward(p.calls) {
		if c.method != methodListen {
			return c
		}
	}
	return nil
}

// stream sends the messages of a call to a client, until the answer or until the client
// disconnects. That cancels a request without a session, unless it is a subscription.
func (p *peer) stream(w http.ResponseWriter, r *http.Request, c *call) {
	started := false
	begin := func() {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush()
		started = true
	}
	if !p.shared {
		begin()
	}
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return
			}
			if !started {
				if status := statusOf(line); status != http.StatusOK {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					w.Write(line)
					return
				}
				begin()
			}
			if event(w, line) != nil {
				p.drop(c)
				return
			}
		case <-r.Context().Done():
			p.drop(c)
			// Keep a subscription. The disconnect may be noticed late, and then the Go
			// SDK would also end later subscriptions of the same session.
			if p.shared && c.method != methodListen {
				p.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, c.sent))
			}
			return
		}
	}
}

// statusOf returns the HTTP status of an answer that is the first and only message
// (2026-07-28, "Streamable HTTP, Protocol Version Header"): protocol errors have their own.
func statusOf(line []byte) int {
	var m struct {
		Method string
		Error  *struct{ Code int }
	}
	switch {
	case json.Unmarshal(line, &m) != nil || m.Method != "" || m.Error == nil:
		return http.StatusOK
	case m.Error.Code == -32601:
		return http.StatusNotFound
	case m.Error.Code == -32602, m.Error.Code == -32600, m.Error.Code <= -32020 && m.Error.Code > -32030:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// end ends the process as clients do.
func (p *peer) end() {
	p.in.Close()
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.ended:
			return
		case <-time.After(2 * time.Second):
		}
		if err := p.cmd.Process.Signal(sig); errors.Is(err, os.ErrProcessDone) {
			break
		}
	}
	<-p.ended
}
