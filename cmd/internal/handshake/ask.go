package handshake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

const (
	protocolVersion = "2025-06-18"
	maxPages        = 100 // of tools/list: a server could send pages for ever
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
	defer to.Close()
	s := newServer(ctx, from, to)
	defer s.stop()
	hello, err := s.request(mcp.MethodInitialize, mcp.InitializeParams{
		ProtocolVersion: protocolVersion,
		ClientInfo:      mcp.Implementation{Name: name, Version: programs.Version()},
	})
	if err != nil {
		return nil, err
	}
	var said struct { // what Pin does not read
		ProtocolVersion string             `json:"protocolVersion"`
		ServerInfo      mcp.Implementation `json:"serverInfo"`
	}
	if err := json.Unmarshal(hello, &said); err != nil {
		return nil, unreadable(mcp.MethodInitialize, err)
	}
	if v := said.ProtocolVersion; !mcp.IsValidProtocolVersion(v) {
		return nil, fmt.Errorf("the server answered initialize with the protocol version %q, which does not exist", v)
	}
	if err := s.notify(mcp.MethodNotificationInitialized); err != nil {
		return nil, err
	}
	a := &Answer{Name: said.ServerInfo.Name, Version: said.ServerInfo.Version, server: hello}
	return a, a.list(s)
}

func (a *Answer) list(s *server) error {
	var params mcp.PaginatedParams
	for range maxPages {
		result, err := s.request(mcp.MethodToolsList, params)
		if err != nil {
			return err
		}
		var page struct {
			Tools      []Tool     `json:"tools"`
			NextCursor mcp.Cursor `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return unreadable(mcp.MethodToolsList, err)
		}
		a.Tools, a.pages = append(a.Tools, page.Tools...), append(a.pages, result)
		if params.Cursor = page.NextCursor; params.Cursor == "" {
			return nil
		}
	}
	return fmt.Errorf("the tool list of the server has more than %d pages", maxPages)
}

func unreadable(method mcp.MCPMethod, err error) error {
	for below := errors.Unwrap(err); below != nil; below = errors.Unwrap(err) {
		err = below // the outer ones only repeat these words
	}
	return fmt.Errorf("the answer of the server to %s cannot be read: %w", method, err)
}
