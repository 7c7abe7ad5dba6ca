package handshake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/packages/pin"
)

const (
	protocolVersion = "2025-06-18"
	maxPages        = 100      // of tools/list: a server could send pages for ever
	maxBytes        = 64 << 20 // of all that the server says
)

// Answer is what a server says about itself.
type Answer struct {
	Name, Version string // of the server
	Tools         []Tool // of all pages, in the order of the server

	server []byte // the result of initialize
	pages  [][]byte
}

// Tool is a tool as a server lists it. A list is decoded into these two members alone, so that a
// server cannot set the members that mcp-jail reports of a tool.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Pin returns the definitions of the tools as a session pins them.
func (a *Answer) Pin() (*pin.Pin, error) {
	server, err := pin.ReadServer(a.server)
	if err != nil {
		return nil, err
	}
	return pin.New(server, a.pages...)
}

// Ask makes the handshake with a server, and lists its tools. It reads up to the last answer, and
// closes to at the end. name is that of the command that asks.
func Ask(ctx context.Context, name string, from io.Reader, to io.WriteCloser) (*Answer, error) {
	said := &bounded{from: from}
	r := &recorder{Stdio: transport.NewIO(said, deaf{to}, nil)}
	defer r.Close()
	a, err := ask(ctx, name, r)
	if err != nil && said.full() {
		err = fmt.Errorf("the server said more than %d MiB before it had listed its tools", maxBytes>>20)
	}
	return a, err
}

func ask(ctx context.Context, name string, r *recorder) (*Answer, error) {
	c := client.NewClient(r, client.WithProtocolVersion(protocolVersion))
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = protocolVersion
	request.Params.ClientInfo = mcp.Implementation{Name: name, Version: programs.Version()}
	hello, err := c.Initialize(ctx, request)
	if err != nil {
		return nil, r.failure(err)
	}
	a := &Answer{Name: hello.ServerInfo.Name, Version: hello.ServerInfo.Version, server: r.result}
	list := mcp.ListToolsRequest{}
	for range maxPages {
		page, err := c.ListToolsByPage(ctx, list)
		if err != nil {
			return nil, r.failure(err)
		}
		var tools struct{ Tools []Tool }
		if err := json.Unmarshal(r.result, &tools); err != nil {
			return nil, r.failure(err)
		}
		a.Tools, a.pages = append(a.Tools, tools.Tools...), append(a.pages, r.result)
		if list.Params.Cursor = page.NextCursor; list.Params.Cursor == "" {
			return a, nil
		}
	}
	return nil, fmt.Errorf("the tool list of the server has more than %d pages", maxPages)
}

// recorder keeps the last answer of a server as it came: the client decodes only the members that
// it knows, and a pin covers all.
type recorder struct {
	*transport.Stdio
	method string
	result []byte // nil if there was none
	failed string // the message of an error
	ended  bool   // the server ended before its answer
	once   sync.Once
}

// SendRequest implements transport.Interface.
func (r *recorder) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	r.method, r.result, r.failed = request.Method, nil, ""
	response, err := r.Stdio.SendRequest(ctx, request)
	switch {
	case err != nil:
		r.ended = errors.Is(err, transport.ErrTransportClosed)
	case response.Error != nil:
		r.failed = fmt.Sprintf("the server answered %s with an error: %q", request.Method, response.Error.Message)
	default:
		r.result = response.Result
	}
	return response, err
}

// Close implements transport.Interface.
func (r *recorder) Close() (err error) {
	r.once.Do(func() { err = r.Stdio.Close() })
	return err
}

// failure returns the error of a request in words for the user.
func (r *recorder) failure(err error) error {
	var version mcp.UnsupportedProtocolVersionError
	switch {
	case r.failed != "":
		return errors.New(r.failed)
	case r.ended:
		return errors.New("the server ended before it answered " + r.method)
	case errors.As(err, &version):
		return fmt.Errorf("the server answered %s with the protocol version %q, which does not exist", r.method, version.Version)
	case r.result != nil:
		return fmt.Errorf("the answer of the server to %s cannot be read: %w", r.method, innermost(err))
	}
	return err
}

// innermost returns the innermost error. The outer ones only repeat the words of failure.
func innermost(err error) error {
	for {
		below := errors.Unwrap(err)
		if below == nil {
			return err
		}
		err = below
	}
}

// bounded is a reader that ends at the first error and after maxBytes. It hides the error,
// because the client would print a line of its own about it.
type bounded struct {
	from io.Reader
	read atomic.Int64
}

func (r *bounded) Read(b []byte) (int, error) {
	if r.full() {
		return 0, io.EOF
	}
	n, err := r.from.Read(b)
	r.read.Add(int64(n))
	if err != nil {
		err = io.EOF
	}
	return n, err
}

func (r *bounded) full() bool { return r.read.Load() > maxBytes }

// deaf hides the errors of writing to a server that does not read any more. The output of the
// server shows whether it has ended.
type deaf struct{ io.WriteCloser }

func (w deaf) Write(b []byte) (int, error) {
	w.WriteCloser.Write(b)
	return len(b), nil
}
