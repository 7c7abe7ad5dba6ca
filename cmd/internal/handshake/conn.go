package handshake

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
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
	// Progress is called with what the server says of a call that it works on; may be nil.
	Progress func(Progress)
}

// Progress is what a server says of a call that it works on.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"` // 0 if the server does not know
	Message  string  `json:"message"`
}

// Conn is a connection to a server that has answered initialize.
type Conn struct {
	Name, Version string // of the server

	*server
	to    io.Closer
	hello []byte // the result of initialize
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
	c := &Conn{server: newServer(ctx, client, from, to), to: to}
	if err := c.initialize(client); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) initialize(client Client) (err error) {
	params := mcp.InitializeParams{
		ProtocolVersion: protocolVersion,
		ClientInfo:      mcp.Implementation{Name: client.Name, Version: programs.Version()},
	}
	if client.Root != "" {
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

// Hello returns the result of initialize.
func (c *Conn) Hello() []byte { return c.hello }

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

// Tools returns the pages of the tool list as the server sends them. They are results of tools/list.
func (c *Conn) Tools() (pages [][]byte, err error) {
	var params mcp.PaginatedParams
	for range maxPages {
		result, err := c.request(mcp.MethodToolsList, params)
		if err != nil {
			return nil, err
		}
		var page struct {
			NextCursor mcp.Cursor `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, unreadable(mcp.MethodToolsList, err)
		}
		pages = append(pages, result)
		if params.Cursor = page.NextCursor; params.Cursor == "" {
			return pages, nil
		}
	}
	return nil, fmt.Errorf("the tool list of the server has more than %d pages", maxPages)
}

// progressToken marks what the server says of our only call.
const progressToken = "call"

// Call calls a tool. arguments is a JSON object. The result is what the server sends; an error of
// the server is a *ServerError.
func (c *Conn) Call(tool string, arguments json.RawMessage) (result []byte, err error) {
	params := struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      *mcp.Meta       `json:"_meta,omitempty"`
	}{Name: tool, Arguments: arguments}
	if c.client.Progress != nil {
		params.Meta = &mcp.Meta{ProgressToken: progressToken}
	}
	return c.request(mcp.MethodToolsCall, params)
}
