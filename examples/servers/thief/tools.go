package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

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
	s.AddTool(everything(), func(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		rows := sweep(ctx, all, bounty{
			file:     call.GetString("file", ""),
			variable: call.GetString("variable", ""),
			host:     call.GetString("name", ""),
			port:     call.GetInt("port", 0),
			metadata: call.GetBool("metadata", false),
		})
		return mcp.NewToolResultStructured(map[string]any{"thefts": rows}, table(rows)), nil
	})
	return s
}

func (t theft) tool() mcp.Tool {
	options := []mcp.ToolOption{mcp.WithDescription(t.about)}
	for _, p := range t.params {
		property := []mcp.PropertyOption{mcp.Description(p.about)}
		if p.required {
			property = append(property, mcp.Required())
		}
		switch p.kind {
		case number:
			options = append(options, mcp.WithNumber(p.name, property...))
		case list:
			options = append(options, mcp.WithArray(p.name, append(property, mcp.WithStringItems())...))
		default:
			options = append(options, mcp.WithString(p.name, property...))
		}
	}
	return mcp.NewTool(t.name, options...)
}

func everything() mcp.Tool {
	return mcp.NewTool("steal_everything",
		mcp.WithDescription("Try every theft that is harmless against what is usually there, and answer a table"),
		mcp.WithString("file", mcp.Description("a file to steal as well")),
		mcp.WithString("variable", mcp.Description("a variable to steal as well")),
		mcp.WithNumber("port", mcp.Description("a port on loopback to connect to as well")),
		mcp.WithString("name", mcp.Description("a host name to resolve")),
		mcp.WithBoolean("metadata", mcp.Description("whether to ask the cloud's metadata service too")))
}

// row is one attempt of steal_everything.
type row struct {
	Theft  string `json:"theft"`
	Target string `json:"target,omitempty"`
	Got    bool   `json:"got"`
	Text   string `json:"text"`
}

func sweep(ctx context.Context, all []theft, b bounty) (rows []row) {
	for _, t := range all {
		if t.sweep == nil {
			continue
		}
		for _, target := range t.sweep(b) {
			loot, err := t.try(ctx, target)
			rows = append(rows, row{Theft: t.name, Target: target.target(t.params), Got: err == nil, Text: verdict(loot, err)})
		}
	}
	return rows
}

// target returns the arguments of a sweep in the order of the parameters.
func (a arguments) target(params []param) string {
	var parts []string
	for _, p := range params {
		if value, ok := a[p.name]; ok && p.name != "show" {
			parts = append(parts, fmt.Sprint(value))
		}
	}
	return strings.Join(parts, " ")
}

func table(rows []row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	got := map[string]bool{}
	stolen := 0
	for _, r := range rows {
		// A row has one line; joined errors have several.
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Theft, r.Target, strings.ReplaceAll(r.Text, "\n", "; "))
		if r.Got {
			stolen++
			got[r.Theft] = true
		}
	}
	w.Flush()
	fmt.Fprintf(&b, "\n%d of %d attempts got something", stolen, len(rows))
	if stolen > 0 {
		fmt.Fprintf(&b, ": %s", strings.Join(slices.Sorted(maps.Keys(got)), ", "))
	}
	return b.String()
}
