package callcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

const (
	protocolVersion = "2025-06-18"
	maxPages        = 100 // of tools/list: a server could send pages for ever
)

// Client is how mcp-jail presents itself to a server.
type Client struct {
	Name  string // of the command that asks
	Root  string // the directory of the project, which the server may ask for; "" for no roots
	Limit int64  // how many bytes the server may send; 0 for 64 MiB
}

// Conn is a connection to a server that has answered initialize.
type Conn struct {
	Name, Version string // of the server

	ctx    context.Context
	stop   context.CancelFunc
	client Client
	to     io.WriteCloser
	out    chan []byte // what the server is sent
	lines  chan []byte // closed when the server has said its last; tooMuch is set before
	hello  []byte      // the result of initialize

	lastID  int64
	tooMuch bool
}

// ServerError is an error with which a server answers a request.
type ServerError struct {
	Method  string
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("the server answered %s with an error: %q", e.Method, e.Message)
}

// Open makes the handshake with a server. If it fails, it closes to.
func Open(ctx context.Context, client Client, from io.Reader, to io.WriteCloser) (*Conn, error) {
	client.Limit = cmp.Or(client.Limit, maxBytes)
	c := &Conn{client: client, to: to, out: make(chan []byte, maxUnread), lines: make(chan []byte)}
	c.ctx, c.stop = context.WithCancel(ctx)
	go c.read(from)
	go c.write()
	if err := c.initialize(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) initialize() (err error) {
	params := mcp.InitializeParams{
		ProtocolVersion: protocolVersion,
		ClientInfo:      mcp.Implementation{Name: c.client.Name, Version: cmdline.Version()},
	}
	if c.client.Root != "" {
		params.Capabilities.Roots = &struct {
			ListChanged bool `json:"listChanged,omitempty"`
		}{}
	}
	if c.hello, err = c.request(mcp.MethodInitialize, params); err != nil {
		return err
	}
	var said struct { // what Pin does not read
		ProtocolVersion string             `json:"protocolVersion"`
		ServerInfo      mcp.Implementation `json:"serverInfo"`
	}
	if err := json.Unmarshal(c.hello, &said); err != nil {
		return unreadable(mcp.MethodInitialize, err)
	}
	if v := said.ProtocolVersion; !mcp.IsValidProtocolVersion(v) {
		return fmt.Errorf("the server answered initialize with the protocol version %q, which does not exist", v)
	}
	c.Name, c.Version = said.ServerInfo.Name, said.ServerInfo.Version
	return c.notify(mcp.MethodNotificationInitialized)
}

// Request sends a request as it is, and returns its result. The error is a *ServerError if the server
// answered with one.
func (c *Conn) Request(method string, params json.RawMessage) (result []byte, err error) {
	if params == nil {
		return c.request(mcp.MCPMethod(method), nil)
	}
	return c.request(mcp.MCPMethod(method), params)
}

// Close closes what the server reads. What it still sends is no longer read.
func (c *Conn) Close() error {
	c.stop()
	return c.to.Close()
}

// Tools returns the tools of the server, and the pages of its list as it sends them: results of tools/list.
func (c *Conn) Tools() (tools []Tool, pages [][]byte, err error) {
	var params mcp.PaginatedParams
	for range maxPages {
		result, err := c.request(mcp.MethodToolsList, params)
		if err != nil {
			return nil, nil, err
		}
		var page struct {
			Tools      []Tool     `json:"tools"`
			NextCursor mcp.Cursor `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, nil, unreadable(mcp.MethodToolsList, err)
		}
		tools, pages = append(tools, page.Tools...), append(pages, result)
		if params.Cursor = page.NextCursor; params.Cursor == "" {
			return tools, pages, nil
		}
	}
	return nil, nil, fmt.Errorf("the tool list of the server has more than %d pages", maxPages)
}

// call calls a tool. arguments is a JSON object. The result is what the server sends; an error of
// the server is a *ServerError.
func (c *Conn) call(tool string, arguments json.RawMessage) (result []byte, err error) {
	params := struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{tool, arguments}
	return c.request(mcp.MethodToolsCall, params)
}

// Answer is what a server says about itself.
type Answer struct {
	Tools []Tool // of all pages, in the order of the server

	server []byte // the result of initialize
	pages  [][]byte
}

// Pin returns the definitions of the tools as a session pins them.
func (a *Answer) Pin() (*toolpin.Pin, error) {
	server, err := toolpin.ReadServer(a.server)
	if err != nil {
		return nil, err
	}
	return toolpin.New(server, a.pages...)
}

// Ask makes the handshake with a server, and lists its tools. It reads up to the last answer, and
// closes to at the end. name is that of the command that asks.
func Ask(ctx context.Context, name string, from io.Reader, to io.WriteCloser) (*Answer, error) {
	c, err := Open(ctx, Client{Name: name}, from, to)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	tools, pages, err := c.Tools()
	if err != nil {
		return nil, err
	}
	return &Answer{tools, c.hello, pages}, nil
}

func unreadable(method mcp.MCPMethod, err error) error {
	for below := errors.Unwrap(err); below != nil; below = errors.Unwrap(err) {
		err = below // the outer ones only repeat these words
	}
	return fmt.Errorf("the answer of the server to %s cannot be read: %w", method, err)
}
