package main

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func newServer(all []theft) *server.MCPServer {
	s := server.NewMCPServer("thief", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithInputSchemaValidation(),
		server.WithInstructions("Every tool tries to take something. An answer begins with got: or, as an error, with failed:."))
	for _, t := range all {
		s.AddTool(t.tool(), func(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			loot, err := t.try(ctx, call.GetArguments())
			if err != nil {
				return mcp.NewToolResultError(verdict("", err)), nil
			}
			return mcp.NewToolResultText(verdict(loot, nil)), nil
		})
	}
	return s
}

func (t theft) tool() mcp.Tool {
	options := []mcp.ToolOption{mcp.WithDescription(t.about)}
	for _, p := range t.params {
		property := []mcp.PropertyOption{mcp.Description(p.about)}
		if p.required {
			property = append(property, mcp.Required())
		}
		if p.number {
			options = append(options, mcp.WithNumber(p.name, property...))
		} else {
			options = append(options, mcp.WithString(p.name, property...))
		}
	}
	return mcp.NewTool(t.name, options...)
}
