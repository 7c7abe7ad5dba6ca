package handshake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-jail/mcp-jail/packages/toolpin"
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
	c, err := Open(ctx, Client{Name: name}, from, to)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	pages, err := c.Tools()
	if err != nil {
		return nil, err
	}
	a := &Answer{Name: c.Name, Version: c.Version, server: c.hello, pages: pages}
	for _, page := range pages {
		var list struct {
			Tools []Tool `json:"tools"`
		}
		if err := json.Unmarshal(page, &list); err != nil {
			return nil, unreadable(mcp.MethodToolsList, err)
		}
		a.Tools = append(a.Tools, list.Tools...)
	}
	return a, nil
}

func unreadable(method mcp.MCPMethod, err error) error {
	for below := errors.Unwrap(err); below != nil; below = errors.Unwrap(err) {
		err = below // the outer ones only repeat these words
	}
	return fmt.Errorf("the answer of the server to %s cannot be read: %w", method, err)
}
