package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// newServer offers the three operations of a notebook as tools. A failure is a result with isError and the error of the
// operating system, which clients, models and the jail can use.
func newServer(notes notebook) *server.MCPServer {
	s := server.NewMCPServer("notes", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithInputSchemaValidation(),
		server.WithInstructions("Markdown notes, named by their path without the suffix .md."))

	name := mcp.WithString("name", mcp.Required(), mcp.Description("Path of the note, such as garden or trips/rome"))

	s.AddTool(mcp.NewTool("search", mcp.WithDescription("Find lines in all notes"),
		mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithString("query", mcp.Required(), mcp.MinLength(1), mcp.Description("Words to look for, in any case"))),
		func(_ context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			hits, err := notes.search(call.GetString("query", ""))
			if err == nil && len(hits) == 0 {
				return mcp.NewToolResultText("no note says that"), nil
			}
			return answer(strings.Join(hits, "\n"), err)
		})

	s.AddTool(mcp.NewTool("read", mcp.WithDescription("Read one note"), mcp.WithReadOnlyHintAnnotation(true), name),
		func(_ context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answer(notes.read(call.GetString("name", "")))
		})

	s.AddTool(mcp.NewTool("write", mcp.WithDescription("Make or replace one note"), mcp.WithDestructiveHintAnnotation(true), name,
		mcp.WithString("text", mcp.Required(), mcp.Description("The whole text of the note"))),
		func(_ context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			name, text := call.GetString("name", ""), call.GetString("text", "")
			created, err := notes.write(name, text)
			verb := "replaced"
			if created {
				verb = "made"
			}
			return answer(fmt.Sprintf("%s %s, %d bytes", verb, name, len(text)), err)
		})
	return s
}

func answer(text string, err error) (*mcp.CallToolResult, error) {
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(text), nil
}
