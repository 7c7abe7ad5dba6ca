package callcmd

import (
	"bufio"
	"bytes"
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

// write sends what is in c.out, until stop. What the server says shows whether it has ended, so an
// error of writing tells nothing more.
func (c *Conn) write() {
	for {
		select {
		case b := <-c.out:
			c.to.Write(b)
		case <-c.ctx.Done():
			return
		}
	}
}

// read sends the lines of the server to c.lines, until stop.
func (c *Conn) read(from io.Reader) {
	defer close(c.lines)
	limited := &io.LimitedReader{R: from, N: c.client.Limit}
	r := bufio.NewReader(limited)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			c.tooMuch = limited.N <= 0
			return
		}
		select {
		case c.lines <- line:
		case <-c.ctx.Done():
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
func (c *Conn) request(method mcp.MCPMethod, params any) (result []byte, err error) {
	c.lastID++
	id := mcp.NewRequestId(c.lastID)
	if err := c.send(mcp.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Params: params, Request: mcp.Request{Method: string(method)}}); err != nil {
		return nil, err
	}
	for {
		m, err := c.next(method)
		switch {
		case err != nil:
			return nil, err
		case m.Method != nil && m.ID != nil:
			if err := c.answer(m); err != nil {
				return nil, err
			}
		case m.Method != nil || string(m.ID) != fmt.Sprint(c.lastID): // another notification, or a late answer
		case m.Error != nil:
			m.Error.Method = string(method)
			return nil, m.Error
		default:
			return m.Result, nil
		}
	}
}

func (c *Conn) next(method mcp.MCPMethod) (m message, err error) {
	for {
		select {
		case <-c.ctx.Done():
			return m, c.ctx.Err()
		case line, ok := <-c.lines:
			switch {
			case ok:
				m = message{}
				if json.Unmarshal(bytes.TrimSpace(line), &m) == nil {
					return m, nil
				}
			case c.tooMuch:
				return m, fmt.Errorf("the server said more than %d MiB before it answered %s", c.client.Limit>>20, method)
			default:
				return m, errors.New("the server ended before it answered " + string(method))
			}
		}
	}
}

func (c *Conn) answer(m message) error {
	var id mcp.RequestId
	if json.Unmarshal(m.ID, &id) != nil {
		return nil
	}
	switch {
	case *m.Method == string(mcp.MethodPing):
		return c.send(mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: struct{}{}})
	case *m.Method == string(mcp.MethodListRoots) && c.client.Root != "":
		at := url.URL{Scheme: "file", Path: filepath.ToSlash(c.client.Root)}
		roots := mcp.ListRootsResult{Roots: []mcp.Root{{URI: at.String(), Name: filepath.Base(c.client.Root)}}}
		return c.send(mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: roots})
	}
	details := mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: "Method not found"}
	return c.send(mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: details})
}

func (c *Conn) notify(method mcp.MCPMethod) error {
	return c.send(mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{Method: string(method)}})
}

func (c *Conn) send(m any) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case c.out <- append(b, '\n'):
		return nil
	default:
		return fmt.Errorf("the server left %d messages unread", maxUnread)
	}
}
