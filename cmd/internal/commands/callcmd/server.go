package callcmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	maxBytes  = 64 << 20 // that a server may say, unless a client allows more
	maxUnread = 256      // messages that a server may leave unread
)

// server is the other end of a connection.
type server struct {
	ctx    context.Context
	client Client
	out    chan []byte // what the server is sent
	lines  chan []byte // closed when the server has said its last; tooMuch is set before
	stop   context.CancelFunc

	lastID  int64
	tooMuch bool
}

func newServer(ctx context.Context, client Client, from io.Reader, to io.Writer) *server {
	ctx, stop := context.WithCancel(ctx)
	client.Limit = cmp.Or(client.Limit, maxBytes)
	s := &server{ctx: ctx, client: client, out: make(chan []byte, maxUnread), lines: make(chan []byte), stop: stop}
	go s.read(from)
	go s.write(to)
	return s
}

// write sends what is in s.out, until stop. What the server says shows whether it has ended, so an
// error of writing tells nothing more.
func (s *server) write(to io.Writer) {
	for {
		select {
		case b := <-s.out:
			to.Write(b)
		case <-s.ctx.Done():
			return
		}
	}
}

// read sends the lines of the server to s.lines, until stop.
func (s *server) read(from io.Reader) {
	defer close(s.lines)
	limited := &io.LimitedReader{R: from, N: s.client.Limit}
	r := bufio.NewReader(limited)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			s.tooMuch = limited.N <= 0
			return
		}
		select {
		case s.lines <- line:
		case <-s.ctx.Done():
			return
		}
	}
}

// message is a message of the server. Members are read as they are, for a pin covers all.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *ServerError    `json:"error"`
}

// request returns the result of a request, or the error with which the server answered.
//
// Meanwhile, requests of the server are answered: a ping as it must be, that for the roots if the client has one, and
// others by an error, because the handshake declares no other capability.
func (s *server) request(method mcp.MCPMethod, params any) (result []byte, err error) {
	s.lastID++
	id := mcp.NewRequestId(s.lastID)
	if err := s.send(mcp.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Params: params, Request: mcp.Request{Method: string(method)}}); err != nil {
		return nil, err
	}
	for {
		m, err := s.next(method)
		switch {
		case err != nil:
			return nil, err
		case m.Method != nil && m.ID != nil:
			if err := s.answer(m); err != nil {
				return nil, err
			}
		case m.Method != nil || string(m.ID) != fmt.Sprint(s.lastID): // another notification, or a late answer
		case m.Error != nil:
			m.Error.Method = string(method)
			return nil, m.Error
		default:
			return m.Result, nil
		}
	}
}

func (s *server) next(method mcp.MCPMethod) (m message, err error) {
	for {
		select {
		case <-s.ctx.Done():
			return m, s.ctx.Err()
		case line, ok := <-s.lines:
			switch {
			case ok:
				m = message{}
				if json.Unmarshal(bytes.TrimSpace(line), &m) == nil {
					return m, nil
				}
			case s.tooMuch:
				return m, fmt.Errorf("the server said more than %d MiB before it answered %s", s.client.Limit>>20, method)
			default:
				return m, errors.New("the server ended before it answered " + string(method))
			}
		}
	}
}

func (s *server) answer(m message) error {
	var id mcp.RequestId
	if json.Unmarshal(m.ID, &id) != nil {
		return nil
	}
	switch {
	case *m.Method == string(mcp.MethodPing):
		return s.send(mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: struct{}{}})
	case *m.Method == string(mcp.MethodListRoots) && s.client.Root != "":
		at := url.URL{Scheme: "file", Path: filepath.ToSlash(s.client.Root)}
		roots := mcp.ListRootsResult{Roots: []mcp.Root{{URI: at.String(), Name: filepath.Base(s.client.Root)}}}
		return s.send(mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: roots})
	}
	details := mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: "Method not found"}
	return s.send(mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: details})
}

func (s *server) notify(method mcp.MCPMethod) error {
	return s.send(mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{Method: string(method)}})
}

func (s *server) send(m any) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case s.out <- append(b, '\n'):
		return nil
	default:
		return fmt.Errorf("the server left %d messages unread", maxUnread)
	}
}
